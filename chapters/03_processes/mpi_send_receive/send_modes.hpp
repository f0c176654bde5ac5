/// The four modes of sending between ranks 0 and 1, and when each of their calls comes back.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cookbook/measure.hpp"
#include "mpi_session.hpp"

namespace send_modes {

constexpr int data_tag = 2, note_tag = 3;

/// The modes of sending. They differ only in when the call may return, so all four take the same arguments.
struct Mode {
  const char* name;
  int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
};
constexpr Mode modes[] = {
    {"standard", MPI_Send},      // when the library likes: it has copied the data, or they are gone
    {"buffered", MPI_Bsend},     // once the data are in the buffer that the program has lent
    {"synchronous", MPI_Ssend},  // not before the receiver has begun to take them
    {"ready", MPI_Rsend},        // may be called only when the receiver is known to wait already
};

/// Rank 0: sends `bytes` to rank 1 and says how many milliseconds it took until the call came back.
inline double milliseconds_to_send(const Mode& mode, int bytes) {
  std::vector<char> data(static_cast<std::size_t>(bytes), 'a');
  if (mode.send == MPI_Rsend) CHECK_MPI(MPI_Recv(nullptr, 0, MPI_CHAR, 1, note_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  const cookbook::Stopwatch watch;
  CHECK_MPI(mode.send(data.data(), bytes, MPI_CHAR, 1, data_tag, MPI_COMM_WORLD));
  const double milliseconds = watch.seconds() * 1e3;
  std::fill(data.begin(), data.end(), 'b');  // whatever the mode: when it has come back, the data are ours again
  CHECK_MPI(MPI_Send(nullptr, 0, MPI_CHAR, 1, note_tag, MPI_COMM_WORLD));
  return milliseconds;
}

/// What rank 1 saw: whether the send had come back before a receive was posted, and how many bytes were not the right
/// ones.
using Sight = std::array<int, 2>;

/// Rank 1: posts its receive when the note comes that the send is over, or after `delay` seconds.
inline Sight receive_late(const Mode& mode, int bytes, double delay) {
  std::vector<char> data(static_cast<std::size_t>(bytes), '?');
  int came_back = 0;
  const cookbook::Stopwatch watch;
  // A buffered send needs no receive: its note must come. A ready send must find the receive posted: no delay.
  while (!came_back && mode.send != MPI_Rsend && (mode.send == MPI_Bsend || watch.seconds() < delay)) {
    CHECK_MPI(MPI_Iprobe(0, note_tag, MPI_COMM_WORLD, &came_back, MPI_STATUS_IGNORE));
  }
  MPI_Request receive;
  CHECK_MPI(MPI_Irecv(data.data(), bytes, MPI_CHAR, 0, data_tag, MPI_COMM_WORLD, &receive));
  if (mode.send == MPI_Rsend) CHECK_MPI(MPI_Send(nullptr, 0, MPI_CHAR, 0, note_tag, MPI_COMM_WORLD));
  CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Recv(nullptr, 0, MPI_CHAR, 0, note_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  return {came_back, bytes - static_cast<int>(std::count(data.begin(), data.end(), 'a'))};
}

/// Ranks 0 and 1: each mode with a small and a large message.
inline void compare(int rank, double delay, cookbook::Checks& checks) {
  constexpr int small = 1, large = 1 << 20;
  std::vector<char> lent(large + MPI_BSEND_OVERHEAD);
  if (rank == 0) CHECK_MPI(MPI_Buffer_attach(lent.data(), static_cast<int>(lent.size())));
  int wrong_bytes = 0;
  for (const Mode& mode : modes) {
    std::vector<int> early = {0, 0};
    for (const int bytes : {small, large}) {
      if (rank == 1) {
        const Sight sight = receive_late(mode, bytes, delay);
        CHECK_MPI(MPI_Send(sight.data(), 2, MPI_INT, 0, data_tag, MPI_COMM_WORLD));
        continue;
      }
      const double milliseconds = milliseconds_to_send(mode, bytes);
      Sight sight{};
      CHECK_MPI(MPI_Recv(sight.data(), 2, MPI_INT, 1, data_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      cookbook::println("{:<11} send of {:>7} B came back after {:>7.3f} ms", mode.name, bytes, milliseconds);
      early[bytes == large] = sight[0];
      wrong_bytes += sight[1];
    }
    if (rank != 0) continue;
    // Guaranteed for these two. A standard send may do either, and what it does no program may rely on.
    const std::string what = fmt::format("{} sends that came back before the receive, small and large", mode.name);
    if (mode.send == MPI_Bsend) checks.equal(what, early, {1, 1});
    if (mode.send == MPI_Ssend) checks.equal(what, early, {0, 0});
  }
  if (rank != 0) return;
  checks.equal("bytes that the sender's overwriting has spoiled", wrong_bytes, 0);
  char* detached = nullptr;
  int size = 0;
  CHECK_MPI(MPI_Buffer_detach(&detached, &size));  // waits until the buffer is empty
}

}  // namespace send_modes
