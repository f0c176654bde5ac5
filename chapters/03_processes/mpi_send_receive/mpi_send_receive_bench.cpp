// Send and receive, measured
//
// Compile: mpicxx -std=c++20 -O3 -march=native -Icommon chapters/03_processes/mpi_send_receive/mpi_send_receive_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o mpi_send_receive_bench
// Run:     mpirun -n 2 mpi_send_receive_bench [--up-to BYTES] [--rounds N]

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

constexpr std::size_t kibi = 1024, mebi = kibi * kibi;

/// Rank 0 sends `data` to rank 1, which sends back what it has received; `times` times. (Ping-pong.)
void there_and_back(int rank, const std::vector<char>& data, std::vector<char>& received, int times) {
  const int bytes = static_cast<int>(data.size()), other = 1 - rank;
  for (int i = 0; i < times; ++i) {
    if (rank == 0) MPI_CHECK(MPI_Send(data.data(), bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Recv(received.data(), bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (rank == 1) MPI_CHECK(MPI_Send(received.data(), bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD));
  }
}

/// Measures on ranks 0 and 1, which make the same rounds. Returns whether all data came back unchanged.
bool measure(int rank, std::size_t up_to, int rounds, cookbook::Figures& latency, cookbook::Figures& bandwidth) {
  bool unchanged = true;
  std::mt19937 engine(1);
  for (const std::size_t bytes : {std::size_t{1}, kibi, 4 * kibi, 64 * kibi, mebi, 16 * mebi}) {
    if (bytes > up_to) break;
    std::vector<char> data(bytes), received(bytes, '?'), copy(bytes, '?');
    std::generate(data.begin(), data.end(), [&] { return static_cast<char>('@' + engine() % 32); });
    const int times = static_cast<int>(std::clamp<std::size_t>(8 * mebi / bytes, 1, 1000)), messages = 2 * times;
    const std::string size = bytes < kibi   ? fmt::format("{} B", bytes)
                             : bytes < mebi ? fmt::format("{} KiB", bytes / kibi)
                                            : fmt::format("{} MiB", bytes / mebi);
    // A copy is made by rank 0 alone, while rank 1 waits for its next message.
    const std::vector<cookbook::Timing> timings =
        cookbook::run_interleaved({{"message", 1, [&] { there_and_back(rank, data, received, times); }},
                                   {"memcpy", 1,
                                    [&] {
                                      for (int i = 0; rank == 0 && i < messages; ++i) {
                                        std::memcpy(copy.data(), data.data(), bytes);
                                        cookbook::do_not_optimize(copy.data());
                                      }
                                    }}},
                                  rounds);
    unchanged = unchanged && received == data;
    if (bytes < 64 * kibi) {  // for short ones the time per message counts, for long ones the bytes per second
      latency.add("message, " + size, timings[0], messages);
      latency.add("memcpy, " + size, timings[1], messages);
    } else {
      const double all_bytes = static_cast<double>(messages) * static_cast<double>(bytes);
      bandwidth.add("message, " + size, timings[0], all_bytes);
      bandwidth.add("memcpy, " + size, timings[1], all_bytes);
    }
  }
  return unchanged;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t up_to = 16 * mebi;
  int rounds = 9;
  cookbook::Options options("What a message costs, beside a copy within one process");
  options.add("up-to", up_to, "largest message that is measured, in bytes", 1, 16 * mebi);
  options.add("rounds", rounds, "measured runs of each size", 1, 1'000);
  options.parse(argc, argv);

  const mpi::Environment world(2);
  const int rank = world.rank();
  cookbook::Checks checks;
  if (rank < 2) {
    cookbook::pin(rank);
    cookbook::Figures latency("one message, one way", cookbook::cost("us", 1e-6));
    cookbook::Figures bandwidth("bytes of messages over time", cookbook::rate("GB/s", 1e9));
    const bool unchanged = measure(rank, up_to, rounds, latency, bandwidth);
    if (rank == 0) {
      checks.that("messages of all sizes came back unchanged", unchanged);
      latency.print(checks);
      if (up_to >= 64 * kibi) bandwidth.print(checks);
    }
  }
  world.sleeping_barrier();  // further ranks have nothing to do, and sleep
  return world.exit_code(checks);
}
