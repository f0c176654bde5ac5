// Flynn's taxonomy
//
// Flynn sorts machines by two questions: how many streams of instructions, and how many streams of data? One job is
// done in all four ways, three sums over one row of numbers. SISD: one instruction for one number at a time. SIMD: one
// instruction for several numbers. MISD: several functions, all on the same numbers at a time. MIMD: several threads,
// each with any function on any numbers. The sums are the same.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/01_getting_started/flynn_taxonomy/flynn_taxonomy.cpp common/cookbook/*.cpp -lfmt -pthread -o flynn_taxonomy
// Run:     flynn_taxonomy [--numbers N] [--piece N] [--threads N]

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

using Number = std::uint32_t;  // wraps around at 2^32, so the order of the additions does not matter
using Numbers = std::span<const Number>;
using Sums = std::vector<Number>;

Number same(Number x) { return x; }
Number square(Number x) { return x * x; }
Number branch(Number x) { return x % 2 == 1 ? 3 * x + 1 : x / 2; }

/// The job: the sum of each of these functions over all numbers.
constexpr std::array functions = {same, square, branch};

Number sum(Number (*function)(Number), Numbers data) {
  Number result = 0;
  for (const Number x : data) result += function(x);
  return result;
}

Sums sisd(Numbers data) { return {sum(same, data), sum(square, data), sum(branch, data)}; }

#if defined(__AVX512F__)
constexpr int vector_bits = 512;
#elif defined(__AVX2__)
constexpr int vector_bits = 256;
#else
constexpr int vector_bits = 128;
#endif
constexpr std::size_t lanes = vector_bits / 32;

/// Each line of the loop over the lanes does the same to all lanes: the compiler makes vector instructions of it.
Sums simd(Numbers data) {
  std::array<Number, lanes> of_same = {}, of_squares = {}, of_branches = {};
  std::size_t i = 0;
  for (; i + lanes <= data.size(); i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const Number x = data[i + lane];
      const Number mask = -(x % 2);  // all 32 bits are 1 if x is odd, 0 if not
      of_same[lane] += x;
      of_squares[lane] += x * x;
      of_branches[lane] += (mask & (3 * x + 1)) | (~mask & (x / 2));  // both sides are computed, one is kept
    }
  }
  Sums sums = sisd(data.subspan(i));  // the last numbers are fewer than a vector has lanes
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    sums[0] += of_same[lane];
    sums[1] += of_squares[lane];
    sums[2] += of_branches[lane];
  }
  return sums;
}

/// One thread per function. All of them work on the same piece, and nobody goes on before all have done it: the barrier
/// stands for the clock of a MISD machine.
Sums misd(Numbers data, std::size_t piece) {
  Sums sums(functions.size());
  std::barrier all_have_done_it(functions.size());
  std::vector<std::jthread> threads;
  for (std::size_t f = 0; f < functions.size(); ++f) {
    threads.emplace_back([&, f] {
      Number mine = 0;
      for (std::size_t i = 0; i < data.size(); i += piece) {
        mine += sum(functions[f], data.subspan(i, std::min(piece, data.size() - i)));
        all_have_done_it.arrive_and_wait();
      }
      sums[f] = mine;
    });
  }
  threads.clear();  // destroys the jthreads, and that joins them
  return sums;
}

/// A job is one function on one piece. A thread that is free takes the next job, and waits for nobody.
Sums mimd(Numbers data, std::size_t piece, std::size_t thread_count) {
  const std::size_t jobs = (data.size() + piece - 1) / piece * functions.size();
  std::array<std::atomic<Number>, functions.size()> sums = {};
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < thread_count; ++t) {
    threads.emplace_back([&] {
      for (std::size_t job = next++; job < jobs; job = next++) {
        const std::size_t f = job % functions.size(), i = job / functions.size() * piece;
        sums[f] += sum(functions[f], data.subspan(i, std::min(piece, data.size() - i)));
      }
    });
  }
  threads.clear();
  return {sums.begin(), sums.end()};  // the numbers that the atomic ones hold
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = 1'000'000, piece = 10'000, threads = 4;
  cookbook::Options options("Do one job in the four ways of Flynn's taxonomy");
  options.add("numbers", size, "numbers in the row", 1, 1UL << 28);
  options.add("piece", piece, "numbers that a thread of MISD and MIMD works on at a time", 1, 1UL << 28);
  options.add("threads", threads, "threads of MIMD; MISD has one per function", 1, 256);
  options.parse(argc, argv);

  std::vector<Number> row(size);
  std::generate(row.begin(), row.end(), std::mt19937(1));
  cookbook::println("vectors of {} bits: {} lanes", vector_bits, lanes);
  const Sums expected = sisd(row);
  cookbook::println("SISD: {}", expected);

  cookbook::Checks checks;
  checks.equal("SIMD", simd(row), expected);
  checks.equal("MISD", misd(row, piece), expected);
  checks.equal("MIMD", mimd(row, piece, threads), expected);
  return checks.exit_code();
}
