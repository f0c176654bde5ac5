// Pitfall: an all-to-all in one buffer
//
// The same buffer is given to send from and to receive in. MPI forbids it: a piece that arrives may overwrite one that
// is still to be sent. Some libraries look for this mistake and return an error. Open MPI 4.1 does not, and
// the numbers are wrong. MPI_IN_PLACE as the first argument says that there is only one buffer.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_alltoall/mpi_alltoall_same_buffer.cpp common/cookbook/*.cpp -lfmt -o mpi_alltoall_same_buffer
// Run:     mpirun -n 5 mpi_alltoall_same_buffer
// Symptom: exit 1, prints "same buffer twice: wrong"

#include <vector>

#include "cookbook/mpi.hpp"

namespace {

/// Exchanges pieces of 100,000 numbers, each the number of its sender. Returns whether all ranks have what they should.
bool exchange(bool in_place, const mpi::Environment& world) {
  const int length = 100'000;
  std::vector<int> data(static_cast<std::size_t>(length) * static_cast<std::size_t>(world.size()), world.rank());
  const void* sent = in_place ? MPI_IN_PLACE : data.data();  // wrong: data also receives
  const int error = MPI_Alltoall(sent, length, MPI_INT, data.data(), length, MPI_INT, MPI_COMM_WORLD);
  bool right = error == MPI_SUCCESS;
  for (std::size_t i = 0; i < data.size(); ++i) right = right && data[i] == static_cast<int>(i) / length;
  return mpi::all_ranks(right);
}

}  // namespace

int main() {
  const mpi::Environment world(3);
  const bool in_place = exchange(true, world), one_buffer = exchange(false, world);
  if (world.rank() == 0) {
    cookbook::println("MPI_IN_PLACE: {}", in_place ? "right" : "wrong");
    cookbook::println("same buffer twice: {}", one_buffer ? "right" : "wrong");
  }
  return one_buffer ? 0 : 1;
}
