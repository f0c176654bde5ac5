// Pitfall: all ranks draw the same points
//
// Each rank makes a generator, and none gives it a seed of its own. So all ranks draw the same points and count the
// same hits. The estimate is as good as that of one rank, whatever the number of ranks: the work of the others is lost,
// and a plausible result does not show it.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/05_distributed/monte_carlo_pi/monte_carlo_pi_same_seed.cpp common/cookbook/*.cpp -lfmt -o monte_carlo_pi_same_seed
// Run:     mpirun -n 2 monte_carlo_pi_same_seed
// Symptom: exit 1, prints "all ranks have counted the same hits"

#include <random>

#include "cookbook/mpi.hpp"

int main() {
  const mpi::Environment world;
  std::mt19937_64 random;  // wrong: the same seed on all ranks
  std::uniform_real_distribution<double> coordinate(0, 1);
  long hits = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const double x = coordinate(random), y = coordinate(random);
    hits += x * x + y * y < 1;
  }

  long fewest = 0, most = 0;
  MPI_CHECK(MPI_Allreduce(&hits, &fewest, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Allreduce(&hits, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
  if (world.rank() == 0) cookbook::println("hits of the ranks: {} to {}", fewest, most);
  if (fewest != most) return 0;
  if (world.rank() == 0) cookbook::println("all ranks have counted the same hits");
  return 1;
}
