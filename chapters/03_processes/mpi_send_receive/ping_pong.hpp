/// How long a message takes: thrown back and forth between ranks 0 and 1, from 1 byte to 16 MiB.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cookbook/figures.hpp"
#include "mpi_session.hpp"

namespace ping_pong {

constexpr int tag = 4;

/// Rank 0 sends `data` and takes what comes back into `back`; rank 1 takes it into `back` and sends that.
inline void throw_and_catch(int rank, const std::vector<char>& data, std::vector<char>& back, std::size_t rounds) {
  const int bytes = static_cast<int>(data.size());
  for (std::size_t i = 0; i < rounds; ++i) {
    if (rank == 0) {
      CHECK_MPI(MPI_Send(data.data(), bytes, MPI_CHAR, 1, tag, MPI_COMM_WORLD));
      CHECK_MPI(MPI_Recv(back.data(), bytes, MPI_CHAR, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
      CHECK_MPI(MPI_Recv(back.data(), bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_MPI(MPI_Send(back.data(), bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD));
    }
  }
}

/// Measures and prints, on rank 0. Both ranks make the same rounds, so that their sends and receives meet.
inline void measure(int rank, cookbook::Checks& checks) {
  constexpr std::size_t kibi = 1024, mebi = kibi * kibi;
  constexpr int rounds = 9;
  cookbook::Figures times("one message, one way", cookbook::cost("us", 1e-6));
  std::vector<cookbook::Figures> rates;
  bool unchanged = true;
  std::mt19937 engine(1);
  for (const std::size_t bytes : {std::size_t{1}, kibi, 4 * kibi, 64 * kibi, mebi, 16 * mebi}) {
    std::vector<char> data(bytes), back(bytes, '?'), copy(bytes, '?');
    std::generate(data.begin(), data.end(), [&] { return static_cast<char>('@' + engine() % 32); });
    const std::size_t throws = std::clamp<std::size_t>(8 * mebi / bytes, 1, 1000);
    const auto messages = static_cast<double>(2 * throws), all_bytes = messages * static_cast<double>(bytes);
    // Both ranks measure the same rows. A copy is made by rank 0 alone, while rank 1 waits for the next message.
    const std::string size = bytes < kibi ? fmt::format("{} B", bytes) : fmt::format("{} KiB", bytes / kibi);
    const auto thrown = [&] { throw_and_catch(rank, data, back, throws); };
    const auto copied = [&] {
      for (std::size_t i = 0; rank == 0 && i < 2 * throws; ++i) {
        std::memcpy(copy.data(), data.data(), bytes);
        cookbook::keep(copy.data());
      }
    };
    std::vector<cookbook::Row> rows = {{"message", all_bytes, thrown}};
    if (bytes >= mebi) rows.insert(rows.begin(), {"memcpy", all_bytes, copied});
    const std::vector<cookbook::Timing> timings = cookbook::measure_in_turns(rows, rounds);
    unchanged = unchanged && back == data;
    times.add(size, timings.back(), messages);
    if (bytes < mebi) continue;
    cookbook::Figures& table = rates.emplace_back(size, cookbook::rate("GB/s", 1e9));
    for (std::size_t i = 0; i < rows.size(); ++i) table.add(rows[i].name, timings[i], rows[i].amount);
    table.percent_of("memcpy");
  }
  if (rank != 0) return;
  checks.that("messages of 1 B to 16 MiB came back unchanged", unchanged);
  times.print(checks);
  for (const cookbook::Figures& rate : rates) rate.print(checks);
}

}  // namespace ping_pong
