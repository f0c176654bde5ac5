// Pitfall: an operator that is declared commutative, and is not
//
// To put digits one after another is an operation in which the order counts. This program tells MPI that it does not
// count: MPI_Op_create(..., 1, ...). MPI may then combine the ranks' digits in any order. With one element per rank the
// result may be right, as with Open MPI 4.1, which is all that a small test sees. Of 10000 elements most are wrong.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_reduce/mpi_reduce_commutative.cpp common/cookbook/*.cpp -lfmt -o mpi_reduce_commutative
// Run:     mpirun -n 3 mpi_reduce_commutative
// Symptom: exit 1, prints "have their digits in another order"

#include <algorithm>
#include <vector>

#include "cookbook/mpi.hpp"
#include "digits.hpp"

int main() {
  const mpi::Environment world(3);
  MPI_Datatype type = make_digits_type();
  MPI_Op op;
  MPI_CHECK(MPI_Op_create(append, 1, &op));  // wrong: 1 says that the order does not count

  std::uint64_t expected = 0;
  for (int rank = 0; rank < world.size(); ++rank) expected = 10 * expected + number_of(rank);
  bool all_right = true;
  for (const int length : {1, 10000}) {
    const std::vector<Digits> mine(static_cast<std::size_t>(length), digits_of(world.rank()));
    std::vector<Digits> all(mine.size());
    MPI_CHECK(MPI_Allreduce(mine.data(), all.data(), length, type, op, MPI_COMM_WORLD));
    const long wrong = std::count_if(all.begin(), all.end(), [&](const Digits& one) { return one.number != expected; });
    if (world.rank() == 0) {
      cookbook::println("{} of {} elements {}", wrong > 0 ? wrong : length, length,
                        wrong > 0 ? "have their digits in another order" : "are right");
    }
    all_right = all_right && wrong == 0;
  }
  MPI_CHECK(MPI_Type_free(&type));
  MPI_CHECK(MPI_Op_free(&op));
  return all_right ? 0 : 1;
}
