// The program's output, its count of bytes, and the functions of streams.hpp from inside.

#include <string>
#include <vector>

#include "cookbook/measure.hpp"

namespace cookbook {

struct Required {
  double bytes;
  std::string what;
  bool operator==(const Required&) const = default;
};
inline std::vector<Required> required;  // by the program

/// In place of require_memory().
inline void note_required_memory(double bytes, const std::string& what) {
  required.push_back({bytes, what});
  require_memory(bytes, what);
}

/// A stopwatch by which everything takes a nanosecond: then GB/s are bytes.
struct OneNanosecond {
  double seconds() const { return 1e-9; }
};

}  // namespace cookbook

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "02_threads/memory_bandwidth/streams.hpp"
#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

std::vector<int> sums_made;           // by the program: the threads of each call of sum()
std::vector<std::size_t> walks_made;  // and how many walks each call of walk() has
long lines_walked = 0;                // by all of them

Number noted_sum(std::span<const Number> numbers, int threads) {
  sums_made.push_back(threads);
  return sum(numbers, threads);
}

template <std::size_t walks>
std::array<Number, walks> noted_walk(std::span<const Number> in, std::array<Number, walks> places, int steps) {
  walks_made.push_back(walks);
  lines_walked += static_cast<long>(walks) * steps;
  return walk(in, places, steps);
}

}  // namespace

#define main main_of_the_program  // the program is run from inside, too
#define Stopwatch OneNanosecond
#define require_memory note_required_memory
#define sum noted_sum
#define walk noted_walk
#include "02_threads/memory_bandwidth/memory_bandwidth.cpp"
#undef walk
#undef sum
#undef require_memory
#undef Stopwatch
#undef main

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>

#include "support/run.hpp"

namespace {

using test_support::run;

std::vector<Number> numbers(std::size_t size) {
  std::vector<Number> list(size);
  for (std::size_t i = 0; i < size; ++i) list[i] = static_cast<Number>(i * 2'654'435'761);
  return list;
}

TEST(memory_bandwidth, prints_the_sum_for_any_size_and_number_of_threads) {
  for (const std::uint64_t size : {1U, 7U, 100'001U}) {
    const auto sum = static_cast<Number>(size * (size - 1) / 2);
    for (const char* threads : {"1", "2", "5"}) {
      const auto result = run("memory_bandwidth", {"--numbers", std::to_string(size), "--threads", threads});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      const std::string text = std::to_string(sum);
      EXPECT_TRUE(result.has_line("ok    the two sums, modulo 2^32: [" + text + ", " + text + "]")) << result.text();
      EXPECT_EQ(result.lines_with("^(one thread|all threads), .* [0-9.]+ GB/s +[0-9]+$").size(), 6U) << result.text();
      EXPECT_EQ(result.lines_with("^ok    where the last walk ended: [0-9]+$").size(), 1U) << result.text();
    }
  }
}

/// What the program prints if it is run in this process.
std::string run_inside(std::vector<std::string> words) {
  words.insert(words.begin(), "memory_bandwidth");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  testing::internal::CaptureStdout();
  EXPECT_EQ(main_of_the_program(static_cast<int>(words.size()), arguments.data()), 0);
  return testing::internal::GetCapturedStdout();
}

TEST(memory_bandwidth, each_row_has_as_many_walks_and_threads_as_it_says) {
  sums_made.clear();
  walks_made.clear();
  lines_walked = 0;
  run_inside({"--numbers", "3001", "--threads", "3"});
  std::vector<int> threads;
  for (const int row : {1, 3}) threads.insert(threads.end(), 5, row);
  EXPECT_EQ(sums_made, threads);
  std::vector<std::size_t> walks;
  for (const std::size_t row : {1, 8, 16, 64}) walks.insert(walks.end(), 5, row);
  EXPECT_EQ(walks_made, walks);
  EXPECT_EQ(lines_walked, 4 * 5 * 19'200);
}

TEST(memory_bandwidth, counts_the_bytes_that_come_and_compares_with_one_line_at_a_time) {
  const std::string text = run_inside({"--numbers", "12800000", "--threads", "3"});  // 51.2 MB, and 19,200 lines
  for (const char* walks : {"1", "8", "16", "64"}) {
    EXPECT_THAT(text,
                testing::ContainsRegex(fmt::format("one thread, {} lines? at a time +1228800\\.00 GB/s +1\n", walks)));
  }
  EXPECT_THAT(text, testing::ContainsRegex("one thread, in order +51200000\\.00 GB/s +42\n"));
  EXPECT_THAT(text, testing::ContainsRegex("all threads, in order +51200000\\.00 GB/s +42\n"));
}

TEST(memory_bandwidth, requires_the_memory_of_its_numbers_and_says_how_many_mebibytes_these_are) {
  cookbook::required.clear();
  EXPECT_THAT(run_inside({"--numbers", "1000000", "--threads", "3"}),
              testing::StartsWith("3 MiB, all threads: 3 "));  // 3.8
  EXPECT_THAT(run_inside({"--numbers", "1048576", "--threads", "1"}), testing::StartsWith("4 MiB, all threads: 1 "));
  EXPECT_EQ(cookbook::required,
            (std::vector<cookbook::Required>{{4e6, "--numbers 1000000"}, {4'194'304, "--numbers 1048576"}}));
}

TEST(memory_bandwidth, sums_are_right_whatever_is_left_over) {
  for (std::size_t size = 0; size < 100; ++size) {
    const std::vector<Number> in = numbers(size);
    const Number expected = std::accumulate(in.begin(), in.end(), Number{0});
    for (const int threads : {1, 2, 3, 7}) EXPECT_EQ(sum(in, threads), expected) << size << ", " << threads;
  }
}

/// A single walk.
Number one_walk(std::span<const Number> in, Number place, int steps) {
  return walk(in, std::array<Number, 1>{place}, steps)[0];
}

/// The numbers 0, 1, 2 and so on, along which walk() goes.
std::vector<Number> places(std::size_t size) {
  std::vector<Number> list(size);
  std::iota(list.begin(), list.end(), 0U);
  return list;
}

TEST(memory_bandwidth, a_walk_comes_to_every_number_once_and_then_back) {
  for (const std::size_t size : {1U, 2U, 7U, 1'000U, 4'096U, 99'990U}) {
    const std::vector<Number> in = places(size);
    std::vector<bool> seen(size);
    Number place = 0;
    for (std::size_t i = 0; i < size; ++i) {
      place = one_walk(in, place, 1);
      ASSERT_LT(place, size);
      ASSERT_FALSE(seen[place]) << size << ", step " << i;
      seen[place] = true;
    }
    EXPECT_EQ(place, 0U) << size;
    EXPECT_EQ(one_walk(in, 0, static_cast<int>(size) / 2 + 3),
              one_walk(in, one_walk(in, 0, static_cast<int>(size) / 2), 3));
  }
}

TEST(memory_bandwidth, walks_from_several_places_end_where_each_of_them_alone_would_end) {
  const std::vector<Number> in = places(1'000);
  const std::array<Number, 3> from = {0, 1, 999};
  EXPECT_THAT(walk(in, from, 77),
              testing::ElementsAre(one_walk(in, 0, 77), one_walk(in, 1, 77), one_walk(in, 999, 77)));
}

TEST(memory_bandwidth, each_walk_goes_to_where_the_next_one_begins) {
  for (const std::size_t size : {1U, 1'000U, 99'990U}) {
    const std::vector<Number> in = places(size);
    const Number first = static_cast<Number>(size) / 2;
    const auto begin = places_of_walks<5>(size, first, 123);
    EXPECT_EQ(begin[0], first);
    const auto end = walk(in, begin, 123);
    for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(end[i - 1], begin[i]) << size;
  }
  constexpr std::size_t large = std::size_t{1} << 31;  // its products have more than 64 bits
  const auto far = places_of_walks<64>(large, 7, 1'000'000'000);
  std::uint64_t expected = 7;
  for (const Number place : far) {
    EXPECT_EQ(place, expected);
    expected = (expected + std::uint64_t{1'000'000'000} * jump(large)) % large;
  }
}

TEST(memory_bandwidth, each_step_of_a_walk_is_at_a_line_of_its_own) {
  constexpr std::size_t size = 1 << 26, line = 16;
  constexpr int steps = 1'000'000;  // of all walks
  std::vector<bool> seen(size / line);
  std::size_t place = 0, last = 0;
  for (int i = 0; i < steps; ++i) {
    place = (place + jump(size)) % size;
    ASSERT_FALSE(seen[place / line]) << "step " << i;
    ASSERT_GT(std::max(place, last) - std::min(place, last), 1U << 20);
    seen[place / line] = true;
    last = place;
  }
}

TEST(memory_bandwidth, where_a_walk_reads_next_depends_on_the_number_that_it_has_read) {
  std::vector<Number> in = places(1'000);
  const Number second = one_walk(in, 0, 2);
  in[one_walk(in, 0, 1)] = 500;
  EXPECT_EQ(one_walk(in, 0, 2), (500 + jump(1'000)) % 1'000);
  EXPECT_NE(one_walk(in, 0, 2), second);
}

TEST(memory_bandwidth, blocks_cover_all_indices_once_and_are_of_equal_size) {
  for (const int threads : {1, 2, 3, 8}) {
    constexpr std::size_t size = 1'000;
    std::vector<std::atomic<int>> seen(size);
    in_blocks(size, threads, [&](std::size_t begin, std::size_t end) {
      const std::size_t share = size / static_cast<std::size_t>(threads);
      EXPECT_GE(end - begin, share);
      EXPECT_LE(end - begin, share + 1);
      for (std::size_t i = begin; i < end; ++i) ++seen[i];
    });
    for (const auto& count : seen) ASSERT_EQ(count, 1);
  }
}

TEST(memory_bandwidth, all_blocks_are_worked_on_at_the_same_time) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  std::atomic<int> begun = 0;
  in_blocks(100, 4, [&](std::size_t, std::size_t) {
    ++begun;
    while (begun < 4 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_EQ(begun, 4);
  });
}

}  // namespace
