// The program's output, its measurement, and the functions of merge_sort.hpp from inside.

#include "02_threads/parallel_sort/merge_sort.hpp"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace {

std::vector<int> merged_by;  // by how many threads the program has let two rows be merged
std::map<std::pair<std::size_t, std::size_t>, int> rows_merged;  // how often rows of these lengths

template <typename T>
void noted_merge(std::span<const T> a, std::span<const T> b, std::span<T> out, int threads) {
  merged_by.push_back(threads);
  ++rows_merged[{a.size(), b.size()}];
  parallel_merge<T>(a, b, out, threads);
}

std::mutex noting;
std::map<std::pair<std::size_t, int>, int> sorted_by;  // how often so many numbers by so many threads

template <typename T>
void noted_sort(std::span<T> numbers, int threads) {
  {
    const std::scoped_lock lock(noting);
    ++sorted_by[{numbers.size(), threads}];
  }
  parallel_sort(numbers, threads);
}

}  // namespace

#define main main_of_the_program  // its functions are tested from inside, too
#define parallel_merge noted_merge
#define parallel_sort noted_sort
#include "02_threads/parallel_sort/parallel_sort.cpp"
#undef parallel_sort
#undef parallel_merge
#undef main

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "support/run.hpp"

namespace {

using test_support::run;

/// Random numbers from 0 to `highest`.
std::vector<int> random_numbers(std::size_t size, int highest) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::uniform_int_distribution<int> any(0, highest);
  std::vector<int> numbers(size);
  for (int& number : numbers) number = any(random);
  return numbers;
}

TEST(parallel_sort, shows_the_cut_and_times_one_thread_beside_all) {
  for (const char* size : {"1", "2", "1000"}) {
    for (const char* threads : {"1", "2", "3", "16"}) {
      const auto result = run("parallel_sort", {"--numbers", size, "--threads", threads});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_TRUE(result.has_line("one thread merges   [1, 2] and [3, 4]")) << result.text();
      EXPECT_TRUE(result.has_line("another one merges  [5, 8] and [6, 7]")) << result.text();
      EXPECT_EQ(result.captures("^([a-z ]+[a-z])(?: +[0-9.]+ ms){2} +[0-9.]+ x$"),
                (std::vector<std::string>{"sort two halves", "merge two halves", "sort all of them"}));
      EXPECT_TRUE(result.has_line("ok    the two rows, merged: [1, 2, 3, 4, 5, 6, 7, 8]")) << result.text();
      EXPECT_TRUE(result.has_line("ok    merged numbers as by std::sort: yes"));
      EXPECT_TRUE(result.has_line("ok    sorted numbers as by std::sort: yes"));
    }
  }
}

TEST(parallel_sort, the_few_numbers_are_merged_by_two_threads_as_their_lines_say) {
  merged_by.clear();
  testing::internal::CaptureStdout();
  EXPECT_THAT(merge_few(), testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  testing::internal::GetCapturedStdout();
  EXPECT_THAT(merged_by, testing::ElementsAre(2));
}

TEST(parallel_sort, what_is_timed_are_the_two_halves_of_the_numbers_their_merge_and_all_of_them) {
  rows_merged.clear();
  sorted_by.clear();
  std::string name = "parallel_sort", option = "--numbers", numbers = "1001", other = "--threads", threads = "5";
  char* arguments[] = {name.data(), option.data(), numbers.data(), other.data(), threads.data(), nullptr};
  EXPECT_EQ(main_of_the_program(5, arguments), 0);
  const std::map<std::pair<std::size_t, std::size_t>, int> rows = {{{4, 4}, 1}, {{500, 501}, 6}};
  EXPECT_EQ(rows_merged, rows);
  const std::map<std::pair<std::size_t, int>, int> expected = {
      {{500, 1}, 3},  {{501, 1}, 3},  // the halves, by one thread
      {{500, 2}, 3},  {{501, 3}, 3},  // and by five
      {{500, 5}, 1},  {{501, 5}, 1},  // those that are merged
      {{1001, 1}, 3}, {{1001, 5}, 3}  // all
  };
  EXPECT_EQ(sorted_by, expected);
}

TEST(parallel_sort, the_gain_is_the_time_of_one_thread_divided_by_that_of_all) {
  const auto result = run("parallel_sort", {"--numbers", "300000", "--threads", "2"});
  const auto one = result.captures("^(?:sort|merge) .* +([0-9.]+) ms +[0-9.]+ ms"),
             all = result.captures(" ms +([0-9.]+) ms +[0-9.]+ x$"), gain = result.captures(" ms +([0-9.]+) x$");
  ASSERT_TRUE(one.size() == 3 && all.size() == 3 && gain.size() == 3) << result.text();
  for (const std::size_t row : {0U, 1U, 2U}) {  // all are printed with two decimals
    EXPECT_GE(std::stod(gain[row]), (std::stod(one[row]) - 0.006) / (std::stod(all[row]) + 0.006) - 0.01);
    EXPECT_LE(std::stod(gain[row]), (std::stod(one[row]) + 0.006) / (std::stod(all[row]) - 0.006) + 0.01);
  }
}

// One thread needs about as long to sort the halves and to merge them as to sort all; of two, each sorts one half.
TEST(parallel_sort_timing, halves_and_merge_make_up_the_sort) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto result = run("parallel_sort", {"--threads", "2"});
    const auto one = result.captures("^(?:sort|merge) .* +([0-9.]+) ms +[0-9.]+ ms"),
               gain = result.captures(" ms +([0-9.]+) x$");
    ASSERT_TRUE(one.size() == 3 && gain.size() == 3) << result.text();
    const double parts = std::stod(one[0]) + std::stod(one[1]), whole = std::stod(one[2]);
    const bool alike = parts > 0.8 * whole && parts < 1.25 * whole;
    if (alike && std::stod(gain[0]) > 1.5 && std::stod(one[1]) < std::stod(one[0]) / 5) return;
  }
  FAIL() << "the first two rows are not the parts of the third one";
}

TEST(parallel_sort, times_three_runs_of_one_thread_and_then_of_all) {
  std::vector<int> threads;
  std::size_t prepared = 0;
  const auto work = [&](int count) {
    threads.push_back(count);
    EXPECT_EQ(prepared, threads.size()) << "each run begins with it";
  };
  print_times(
      "nothing", 7, [&] { ++prepared; }, work);
  EXPECT_THAT(threads, testing::ElementsAre(1, 1, 1, 7, 7, 7));
}

TEST(parallel_sort, sorts_as_std_sort_does) {
  for (const std::size_t size : {0U, 1U, 2U, 3U, 10U, 1'000U, 30'001U}) {
    for (const int highest : {0, 3, 1'000'000}) {  // all equal, many equal, few equal
      const std::vector<int> numbers = random_numbers(size, highest);
      std::vector<int> expected = numbers;
      std::sort(expected.begin(), expected.end());
      for (const int threads : {1, 2, 3, 4, 7, 8}) {
        std::vector<int> sorted = numbers;
        parallel_sort(std::span(sorted), threads);
        ASSERT_EQ(sorted, expected) << size << " numbers up to " << highest << ", " << threads << " threads";
      }
    }
  }
}

TEST(parallel_sort, one_thread_copies_the_numbers_only_if_they_are_wanted_in_the_other_place) {
  for (const bool into_other : {false, true}) {
    std::vector<int> numbers = {3, 1, 2}, other(3, -1);
    merge_sort(std::span(numbers), std::span(other), into_other, 1);
    EXPECT_EQ(numbers, (std::vector{1, 2, 3}));
    EXPECT_EQ(other, into_other ? numbers : std::vector(3, -1));
  }
}

TEST(parallel_sort, rows_that_are_sorted_already_or_backwards) {
  std::vector<int> numbers(10'000), expected(10'000);
  for (int i = 0; i < 10'000; ++i) numbers[i] = expected[9'999 - i] = 9'999 - i;
  for (const int threads : {2, 3}) {
    parallel_sort(std::span(numbers), threads);
    EXPECT_EQ(numbers, expected);
    parallel_sort(std::span(numbers), threads);
    EXPECT_EQ(numbers, expected);
    std::reverse(numbers.begin(), numbers.end());
  }
}

TEST(parallel_sort, other_types_too) {
  std::vector<std::string> words = {"pear", "fig", "", "apple", "fig", "quince", "lime"};
  parallel_sort(std::span(words), 3);
  EXPECT_EQ(words, (std::vector<std::string>{"", "apple", "fig", "fig", "lime", "pear", "quince"}));
}

TEST(parallel_sort_merge, rows_of_any_lengths) {
  for (const std::size_t left : {0U, 1U, 5U, 300U}) {
    for (const std::size_t right : {0U, 1U, 6U, 3'000U}) {
      std::vector<int> a = random_numbers(left, 50), b = random_numbers(right + 1, 50);
      b.pop_back();
      std::sort(a.begin(), a.end());
      std::sort(b.begin(), b.end());
      std::vector<int> expected(left + right);
      std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin());
      for (const int threads : {1, 2, 3, 8}) {
        std::vector<int> out(left + right, -1);
        parallel_merge<int>(a, b, out, threads);
        ASSERT_EQ(out, expected) << left << " and " << right << ", " << threads << " threads";
      }
    }
  }
}

/// A number, and the row that it comes from, which is not compared.
struct Marked {
  int value;
  char row;
  friend bool operator<(const Marked& x, const Marked& y) { return x.value < y.value; }
};

TEST(parallel_sort_merge, equal_numbers_come_from_the_first_row_first_if_it_is_not_shorter) {
  for (const std::size_t right : {0U, 1U, 40U, 100U}) {
    std::vector<Marked> a, b;
    for (int i = 0; i < 100; ++i) a.push_back({i / 10, 'a'});
    for (std::size_t i = 0; i < right; ++i) b.push_back({static_cast<int>(10 * i / right), 'b'});
    std::vector<Marked> out(a.size() + b.size());
    for (const int threads : {1, 2}) {  // with more of them, a part of the second row may be the longer one
      parallel_merge<Marked>(a, b, out, threads);
      for (std::size_t i = 1; i < out.size(); ++i) {
        ASSERT_TRUE(out[i - 1].value < out[i].value ||
                    (out[i - 1].value == out[i].value && out[i - 1].row <= out[i].row))
            << "at " << i << " of 100 and " << right << ", " << threads << " threads";
      }
    }
  }
}

/// Counts in which threads numbers are compared.
struct Seen {
  static inline std::mutex mutex;
  static inline std::map<pid_t, long> comparisons;
  int value;
  friend bool operator<(const Seen& x, const Seen& y) {
    {
      std::scoped_lock lock(mutex);
      ++comparisons[gettid()];
    }
    return x.value < y.value;
  }
};

TEST(parallel_sort, every_thread_has_a_part_to_sort) {
  for (const int threads : {1, 2, 3, 8}) {
    std::vector<Seen> numbers(8'000);
    std::mt19937 random;
    for (Seen& number : numbers) number.value = static_cast<int>(random() % 1'000'000);
    Seen::comparisons.clear();
    parallel_sort(std::span(numbers), threads);
    // Threads that merge are new ones, and sort nothing; to sort a part takes more comparisons than to merge one.
    std::vector<long> many;
    for (const auto& [id, count] : Seen::comparisons) {
      if (count > 8'000 / threads * 5) many.push_back(count);
    }
    EXPECT_EQ(many.size(), static_cast<std::size_t>(threads));
    const auto [least, most] = std::minmax_element(many.begin(), many.end());
    EXPECT_LT(*most, *least * 3 / 2) << threads << " threads have unequal parts";
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  }
}

TEST(parallel_sort_merge, the_threads_have_equal_shares) {
  for (const int threads : {3, 4}) {
    std::vector<Seen> a(6'000), b(6'000), out(12'000);
    for (int i = 0; i < 6'000; ++i) a[i].value = 2 * i, b[i].value = 2 * i + 1;
    Seen::comparisons.clear();
    parallel_merge<Seen>(a, b, out, threads);
    ASSERT_EQ(Seen::comparisons.size(), static_cast<std::size_t>(threads));
    for (const auto& [id, count] : Seen::comparisons) {
      EXPECT_GT(count, 12'000 / threads - 100);
      EXPECT_LT(count, 12'000 / threads + 100);
    }
    EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
  }
}

/// A number whose first comparison in each thread waits, for ten seconds at most, until so many threads compare.
struct Meeting {
  static inline std::atomic<int> wanted, come, alone;
  int value;
  friend bool operator<(const Meeting& x, const Meeting& y) {
    static thread_local bool counted = false;
    if (!counted) {
      counted = true;
      ++come;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (come < wanted && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      if (come < wanted) ++alone;
    }
    return x.value < y.value;
  }
};

TEST(parallel_sort, the_parts_are_sorted_at_the_same_time) {
  std::vector<Meeting> numbers(1'000);
  for (int i = 0; i < 1'000; ++i) numbers[i].value = i * 7919 % 1'000;
  Meeting::wanted = 4;
  parallel_sort(std::span(numbers), 4);
  EXPECT_EQ(Meeting::alone, 0);
}

/// Any other thread waits at its comparisons, for ten seconds at most, until the main thread has made a hundred.
struct Followed {
  static inline std::atomic<int> by_main, alone;
  int value;
  friend bool operator<(const Followed& x, const Followed& y) {
    if (gettid() == getpid()) {
      ++by_main;
    } else {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (by_main < 100 && alone == 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      if (by_main < 100) ++alone;
    }
    return x.value < y.value;
  }
};

TEST(parallel_sort_merge, the_parts_are_merged_at_the_same_time) {
  std::vector<Followed> a(500), b(500), out(1'000);
  for (int i = 0; i < 500; ++i) a[i].value = 2 * i, b[i].value = 2 * i + 1;
  parallel_merge<Followed>(a, b, out, 2);  // the cut takes ten comparisons, a part 500
  EXPECT_EQ(Followed::alone, 0);
}

}  // namespace
