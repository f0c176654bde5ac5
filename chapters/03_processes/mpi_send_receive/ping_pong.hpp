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
inline void measure(int rank, cookbook::Verdict& verdict) {
  constexpr std::size_t kibi = 1024, mebi = kibi * kibi;
  constexpr int repeats = 9;
  cookbook::Figures times("one message, one way", cookbook::cost("us", 1e-6));
  std::vector<cookbook::Figures> rates;
  bool unchanged = true;
  std::mt19937 engine(1);
  for (const std::size_t bytes : {std::size_t{1}, kibi, 4 * kibi, 64 * kibi, mebi, 16 * mebi}) {
    std::vector<char> data(bytes), back(bytes, '?');
    std::generate(data.begin(), data.end(), [&] { return static_cast<char>('@' + engine() % 32); });
    const std::size_t rounds = std::clamp<std::size_t>(8 * mebi / bytes, 1, 1000);
    const auto thrown = cookbook::measure([&] { throw_and_catch(rank, data, back, rounds); }, repeats);
    if (rank != 0) continue;

    unchanged = unchanged && back == data;
    const auto messages = static_cast<double>(2 * rounds);
    const std::string size = bytes < kibi ? fmt::format("{} B", bytes) : fmt::format("{} KiB", bytes / kibi);
    times.add(size, thrown, messages);
    if (bytes < mebi) continue;
    const auto copied = cookbook::measure(
        [&] {
          for (std::size_t i = 0; i < 2 * rounds; ++i) {
            std::memcpy(back.data(), data.data(), bytes);
            cookbook::keep(back.data());
          }
        },
        repeats);
    rates.emplace_back(size, cookbook::rate("GB/s", 1e9));
    rates.back().add_limit("memcpy", copied, messages * static_cast<double>(bytes));
    rates.back().add("message", thrown, messages * static_cast<double>(bytes));
  }
  if (rank != 0) return;
  verdict.that("messages of 1 B to 16 MiB came back unchanged", unchanged);
  times.print(verdict);
  for (const cookbook::Figures& rate : rates) rate.print(verdict);
}

}  // namespace ping_pong
