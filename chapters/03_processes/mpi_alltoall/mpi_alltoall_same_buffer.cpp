// An all-to-all in one buffer
//
// The same buffer is given to send from and to receive in. MPI forbids it: a piece that has come lies where one waits
// that is still to be sent, and what goes out then is what has just come in. No call returns an error. MPI_IN_PLACE as
// the first argument says that the data are to be exchanged within one buffer, and MPI takes care.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_alltoall/mpi_alltoall_same_buffer.cpp common/cookbook/*.cpp -lfmt -o mpi_alltoall_same_buffer
// Run:     mpirun -n 5 mpi_alltoall_same_buffer
// Symptom: exit 1, prints "one buffer: wrong"

#include <string_view>
#include <vector>

#include "collective.hpp"
#include "mpi_session.hpp"

namespace {

/// Exchanges pieces of 100,000 numbers, each the number of its sender, and says whether all have come.
bool exchange(bool in_place, const mpi::Session& session) {
  const int count = 100'000, ranks = session.ranks();
  std::vector<int> data(static_cast<std::size_t>(count) * static_cast<std::size_t>(ranks), session.rank());
  const void* sent = in_place ? MPI_IN_PLACE : data.data();  // the fault: data.data() for both
  CHECK_MPI(MPI_Alltoall(sent, count, MPI_INT, data.data(), count, MPI_INT, MPI_COMM_WORLD));
  bool right = true;
  for (std::size_t i = 0; i < data.size(); ++i) right = right && data[i] == static_cast<int>(i) / count;
  return collective::everywhere(right);
}

}  // namespace

int main() {
  const mpi::Session session(3);
  const bool in_place = exchange(true, session), one_buffer = exchange(false, session);
  if (session.rank() == 0) {
    cookbook::println("MPI_IN_PLACE: {}", in_place ? "right" : "wrong");
    cookbook::println("one buffer: {}", one_buffer ? "right" : "wrong");
  }
  return one_buffer ? 0 : 1;
}
