// Flynn's taxonomy
//
// How many streams of instructions, and how many of data? One job is done in all four ways: four results over one row
// of numbers. SISD: one number at a time, one instruction after the other. SIMD: one instruction for as many numbers as
// a vector has lanes. MISD: four flows, each with a function of its own, all on the same piece of data at the same
// time. MIMD: flows that take any function and any piece, each at its own pace. The results are equal, the rates not.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/01_getting_started chapters/01_getting_started/flynn_taxonomy/flynn_taxonomy.cpp common/cookbook/*.cpp -lfmt -pthread -o flynn_taxonomy
// Run:     flynn_taxonomy [--numbers N] [--piece N] [--threads N] [--rounds N]

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <experimental/simd>
#include <functional>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "lanes.hpp"
#include "von_neumann.hpp"

namespace {

using Numbers = std::span<const Number>;
using Results = std::vector<Number>;  // one for each function below

/// For functions that must not be vectorised: the optimiser would turn SISD into SIMD behind our back.
#define ONE_AT_A_TIME [[gnu::optimize("no-tree-vectorize")]]

/// The job: the sum, the sum of squares, a checksum, and a sum whose terms depend on a branch.
ONE_AT_A_TIME Number sum(Numbers data) {
  Number result = 0;
  for (const Number x : data) result += x;
  return result;
}

ONE_AT_A_TIME Number squares(Numbers data) {
  Number result = 0;
  for (const Number x : data) result += x * x;
  return result;
}

ONE_AT_A_TIME Number checksum(Numbers data) {
  Number result = 0;
  for (const Number x : data) result += x ^ (x >> 7);
  return result;
}

/// The processor guesses which way it will go, and loses some ten cycles each time the guess was wrong.
[[gnu::always_inline]] inline Number branch_by_jump(Number x) { return x % 2 == 1 ? 3 * x + 1 : x / 2; }

ONE_AT_A_TIME Number branches(Numbers data) {
  Number result = 0;
  for (const Number x : data) result += branch_by_jump(x);
  return result;
}

constexpr std::array functions = {sum, squares, checksum, branches};

// SISD ----------------------------------------------------------------------------------------------------------------

/// All four results in one go through the data; `branch` is the last term, which depends on a branch.
template <Number branch(Number)>
[[gnu::always_inline]] inline Results one_stream(Numbers data) {
  Number of_sum = 0, of_squares = 0, of_checksum = 0, of_branches = 0;
  for (const Number x : data) {
    of_sum += x;
    of_squares += x * x;
    of_checksum += x ^ (x >> 7);
    of_branches += branch(x);
  }
  return {of_sum, of_squares, of_checksum, of_branches};
}

ONE_AT_A_TIME Results sisd(Numbers data) { return one_stream<branch_by_jump>(data); }

ONE_AT_A_TIME Results sisd_by_mask(Numbers data) { return one_stream<branch_by_mask>(data); }

/// The same lines as sisd(), but here the compiler may make vector instructions of them.
Results sisd_vectorised(Numbers data) { return one_stream<branch_by_jump>(data); }

// SIMD ----------------------------------------------------------------------------------------------------------------

Results simd(Numbers data) {
  Lanes of_sum = 0, of_squares = 0, of_checksum = 0, of_branches = 0;
  std::size_t i = 0;
  for (; i + Lanes::size() <= data.size(); i += Lanes::size()) {
    const Lanes x(&data[i], stdx::element_aligned);
    of_sum += x;
    of_squares += x * x;
    of_checksum += x ^ (x >> 7);
    of_branches += branch_by_mask(x);
  }
  const Results rest = sisd(data.subspan(i));  // fewer numbers than lanes
  return {stdx::reduce(of_sum) + rest[0], stdx::reduce(of_squares) + rest[1], stdx::reduce(of_checksum) + rest[2],
          stdx::reduce(of_branches) + rest[3]};
}

// MISD ----------------------------------------------------------------------------------------------------------------

/// A flow for each function. All work on the same piece; nobody gets the next one before all have done this one.
Results misd(Numbers data, std::size_t piece_size) {
  Results results(functions.size());
  Numbers piece;
  const auto fetch = [&]() noexcept {
    piece = data.first(std::min(piece_size, data.size()));
    data = data.subspan(piece.size());
  };
  fetch();
  std::barrier clock(static_cast<std::ptrdiff_t>(functions.size()), fetch);
  std::vector<std::jthread> processors;
  for (std::size_t p = 0; p < functions.size(); ++p) {
    processors.emplace_back([&, p] {
      Number result = 0;
      for (; !piece.empty(); clock.arrive_and_wait()) result += functions[p](piece);
      results[p] = result;
    });
  }
  processors.clear();  // joins
  return results;
}

// MIMD ----------------------------------------------------------------------------------------------------------------

/// Jobs of any function on any piece. A processor takes the next one when it is free, and waits for nobody.
Results mimd(Numbers data, std::size_t piece_size, std::size_t threads) {
  const std::size_t jobs = (data.size() + piece_size - 1) / piece_size * functions.size();
  std::array<std::atomic<Number>, functions.size()> totals{};
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> processors;
  for (std::size_t p = 0; p < threads; ++p) {
    processors.emplace_back([&] {
      for (std::size_t job = next++; job < jobs; job = next++) {
        const std::size_t function = job % functions.size(), first = job / functions.size() * piece_size;
        totals[function] += functions[function](data.subspan(first, std::min(piece_size, data.size() - first)));
      }
    });
  }
  processors.clear();
  return {totals.begin(), totals.end()};
}

/// MIMD whose processors are SIMD themselves, as those of every present machine are: `form` does all of a piece.
template <typename Form>
Results mimd_of(Form form, Numbers data, std::size_t piece_size, std::size_t threads) {
  std::array<std::atomic<Number>, functions.size()> totals{};
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> processors;
  for (std::size_t p = 0; p < threads; ++p) {
    processors.emplace_back([&] {
      for (std::size_t i = next.fetch_add(piece_size); i < data.size(); i = next.fetch_add(piece_size)) {
        const Results results = form(data.subspan(i, std::min(piece_size, data.size() - i)));
        for (std::size_t f = 0; f < results.size(); ++f) totals[f] += results[f];
      }
    });
  }
  processors.clear();
  return {totals.begin(), totals.end()};
}

/// Next to nothing, for the time that it takes to read the numbers.
Results read_only(Numbers data) {
  Number seen = 0;
  for (const Number x : data) seen ^= x;
  return {seen};
}

void show_a_masked_branch(cookbook::Checks& checks) {
  using Eight = stdx::fixed_size_simd<Number, 8>;
  const Eight x([](auto lane) { return Number{lane} + 1; });
  const auto odd = (x & 1) == 1;
  const Eight merged = branch_by_mask(x);
  std::vector<Number> mask, lanes;
  for (std::size_t i = 0; i < Eight::size(); ++i) {
    mask.push_back(odd[i] ? 1 : 0);
    lanes.push_back(merged[i]);
  }
  checks.equal("lanes 1 to 8: mask of the odd ones", mask, {1, 0, 1, 0, 1, 0, 1, 0});
  checks.equal("3x + 1 under the mask, x / 2 elsewhere", lanes, {4, 1, 10, 2, 16, 3, 22, 4});
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = 1 << 22, piece = 1 << 16, threads = std::max(1U, std::thread::hardware_concurrency());
  int rounds = 9;
  cookbook::Options options("Do one job in the four ways of Flynn's taxonomy");
  options.add("numbers", size, "numbers in the row", 1, 1UL << 28);
  options.add("piece", piece, "numbers that MISD and MIMD take at a time", 1, 1UL << 28);
  options.add("threads", threads, "threads of MIMD; MISD has one for each of its four functions", 1, 256);
  options.add("rounds", rounds, "measured runs of each form", 1, 1'000);
  options.parse(argc, argv);
  cookbook::Checks checks;

  cookbook::println("A von Neumann machine adds the cells 4 and 5:");
  VonNeumannMachine machine({104, 205, 306, 0, 20, 45, 0});
  checks.equal("its steps", machine.run(), 4);
  checks.equal("its cell 6", machine.at(6), 65);

  std::vector<Number> row(size);
  std::mt19937 random;
  std::ranges::generate(row, std::ref(random));
  const Numbers data = row;
  cookbook::println("{} numbers; a vector here has {} lanes of 32 bits ({})", size, Lanes::size(), vector_name());
  const Results expected = sisd(data);
  checks.equal("SISD, first function alone", sum(data), expected[0]);
  checks.equal("SIMD", simd(data), expected);
  checks.equal("MISD", misd(data, piece), expected);
  checks.equal("MIMD", mimd(data, piece, threads), expected);
  checks.equal("MIMD of SIMD", mimd_of(simd, data, piece, threads), expected);
  checks.equal("SISD, branch by mask", sisd_by_mask(data), expected);
  checks.equal("SISD, vectorised by the compiler", sisd_vectorised(data), expected);
  show_a_masked_branch(checks);

  if (!checks.passed()) return checks.exit_code();

  using cookbook::keep;
  const auto form = [&](const char* name, auto work) {
    return cookbook::Row(name, static_cast<double>(size), [work] { keep(work()[0]); });
  };
  cookbook::Figures figures("four results of each number", cookbook::rate("M numbers/s", 1e6));
  figures.percent_of("read only, all threads", "read only");
  figures.times("SISD, vectorised by the compiler", "compiler");
  figures.measure(
      {form("read only, all threads", [&] { return mimd_of(read_only, data, piece, threads); }),
       form("SISD", [&] { return sisd(data); }), form("SISD, branch by mask", [&] { return sisd_by_mask(data); }),
       form("SISD, vectorised by the compiler", [&] { return sisd_vectorised(data); }),
       form("SIMD", [&] { return simd(data); }), form("MISD", [&] { return misd(data, piece); }),
       form("MIMD", [&] { return mimd(data, piece, threads); }),
       form("MIMD of SIMD", [&] { return mimd_of(simd, data, piece, threads); })},
      rounds);
  figures.print(checks);
  return checks.exit_code();
}
