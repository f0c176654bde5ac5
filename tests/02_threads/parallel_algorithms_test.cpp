// The program's output, for sizes around those at which the libraries begin to divide the work, its forms, and how it
// compares them.

#include "02_threads/parallel_algorithms/comparison.hpp"

#include <tbb/global_control.h>

namespace {

/// A row of the program: the job, the addresses of its three forms, how many threads they may use, and whether the
/// numbers are in order before.
struct Row {
  std::string_view job;
  std::vector<void*> forms;
  std::size_t threads;
  bool is_sorted = false;
  bool operator==(const Row&) const = default;
};
std::vector<Row> rows;

template <typename... Form>
Row row_of(std::string_view job, std::size_t threads, Form... forms) {
  return {job, {reinterpret_cast<void*>(forms)...}, threads};
}

template <typename Number, typename... Form>
int noted_compare(std::string_view job, const std::vector<Number>& numbers, Form... forms) {
  using tbb::global_control;
  rows.push_back(row_of(job, global_control::active_value(global_control::max_allowed_parallelism), forms...));
  rows.back().is_sorted = std::is_sorted(numbers.begin(), numbers.end());  // a sort of equal numbers is no work
  return compare(job, numbers, forms...);
}

}  // namespace

#define main main_of_the_program  // its functions are tested from inside, too
#define compare noted_compare
#include "02_threads/parallel_algorithms/parallel_algorithms.cpp"
#undef compare
#undef main

#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include "02_threads/tbb_threads.hpp"
#include "support/eventually.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(parallel_algorithms, all_forms_agree_for_any_size_and_number_of_threads) {
  for (const auto& [size, threads] :
       {std::pair{"1", "2"}, {"2", "1"}, {"1999", "4"}, {"2001", "2"}, {"1000003", "3"}}) {
#if defined(__SANITIZE_THREAD__)
    if (std::string(threads) != "1") continue;  // this sanitizer cannot see how oneTBB's threads wait for each other
#endif
    const auto result = run("parallel_algorithms", {"--numbers", size, "--threads", threads});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    parallel results that differ from the sequential ones: 0")) << result.text();
    EXPECT_EQ(result.captures("^(\\w+) +\\d+ us +[0-9.]+ x +[0-9.]+ x$"),
              (std::vector<std::string>{"sum", "transform", "scan", "sort"}))
        << result.text();
  }
}

#ifndef __SANITIZE_THREAD__
TEST(parallel_algorithms, each_row_has_the_sequential_form_of_its_job_and_then_par_and_onetbb_by_so_many_threads) {
  std::vector<std::string> words = {"parallel_algorithms", "--numbers", "1000", "--threads", "3"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  rows.clear();
  testing::internal::CaptureStdout();
  EXPECT_EQ(main_of_the_program(static_cast<int>(words.size()), arguments.data()), 0);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(rows, (std::vector<Row>{row_of("sum", 3, sum, sum_par, sum_tbb),
                                    row_of("transform", 3, transform, transform_par, transform_tbb),
                                    row_of("scan", 3, scan, scan_par, scan_tbb),
                                    row_of("sort", 3, sort, sort_par, sort_tbb)}));
}
#endif

TEST(parallel_algorithms, onetbb_gets_a_thread_per_processor_and_one_under_thread_sanitizer) {
  EXPECT_EQ(threads_for_tbb(false), cookbook::allowed_processors());
  EXPECT_EQ(threads_for_tbb(true), 1);
#if defined(__SANITIZE_THREAD__)
  EXPECT_EQ(threads_for_tbb(), 1);
#else
  EXPECT_EQ(threads_for_tbb(), cookbook::allowed_processors());
#endif
}

TEST(parallel_algorithms_benchmark, begins_after_the_pause_and_does_not_count_it) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begun;
  const auto work = [&] {
    begun = Clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  const cookbook::Benchmark row = benchmark_after_pause("a row", 1, work, std::chrono::milliseconds(50));
  const Clock::time_point start = Clock::now();
  const double seconds = row.run(), all = std::chrono::duration<double>(Clock::now() - start).count();
  EXPECT_GE(begun - start, std::chrono::milliseconds(50));
  EXPECT_GE(seconds, 0.01);
  EXPECT_LE(seconds, all - 0.05 + 1e-6);
}

const std::vector<int> ten = {5, 2, 8, 1, 7, 4, 6, 3, 10, 9};

TEST(parallel_algorithms_comparison, counts_each_form_with_another_result) {
  const auto sum = [](const std::vector<int>& v) { return std::accumulate(v.begin(), v.end(), 0); };
  const auto last = [](const std::vector<int>& v) { return v.back(); };
  EXPECT_EQ(compare("sum", ten, sum, sum, sum), 0);
  EXPECT_EQ(compare("sum", ten, sum, last, sum), 1);
  EXPECT_EQ(compare("sum", ten, sum, sum, last), 1);
  EXPECT_EQ(compare("sum", ten, sum, last, last), 2);
}

TEST(parallel_algorithms_comparison, compares_what_a_form_does_to_the_numbers) {
  const auto sort = [](std::vector<int>& v) { std::sort(v.begin(), v.end()); };
  const auto nothing = [](std::vector<int>&) {};
  const auto all_but_the_last = [](std::vector<int>& v) { std::sort(v.begin(), v.end() - 1); };
  EXPECT_EQ(compare("sort", ten, sort, sort, sort), 0);
  EXPECT_EQ(compare("sort", ten, sort, nothing, sort), 1);
  EXPECT_EQ(compare("sort", ten, sort, sort, all_but_the_last), 1);
}

TEST(parallel_algorithms_comparison, gives_each_run_the_numbers_as_they_were) {
  int runs = 0;
  std::vector<int> result;
  const auto take_one = [&](std::vector<int>& v) {
    EXPECT_EQ(v, ten);
    v.pop_back();
    ++runs;
  };
  EXPECT_GT(shortest_time(take_one, ten, result), 0.0);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(result, std::vector<int>(ten.begin(), ten.end() - 1));
}

TEST(parallel_algorithms_comparison, prints_more_than_1_for_a_form_that_is_faster_and_less_for_one_that_is_slower) {
  const auto waits = [](int milliseconds) {
    return [milliseconds](std::vector<int>&) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); };
  };
  testing::internal::CaptureStdout();
  compare("wait", ten, waits(40), waits(4), waits(400));
  const std::string line = testing::internal::GetCapturedStdout();
  double us = 0, with_par = 0, with_tbb = 0;
  ASSERT_EQ(std::sscanf(line.c_str(), "wait %lf us %lf x %lf x", &us, &with_par, &with_tbb), 3) << line;
  EXPECT_GE(us, 40'000);
  EXPECT_GT(with_par, 1) << line;
  EXPECT_LT(with_tbb, 1) << line;
}

#ifndef __SANITIZE_THREAD__
/// Counts the threads that come to help in an arena of oneTBB, in which `par` runs as well.
class Helpers : public tbb::task_scheduler_observer {
 public:
  explicit Helpers(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  ~Helpers() override { observe(false); }
  void on_scheduler_entry(bool is_worker) override { count_ += is_worker; }
  int count() const { return count_; }

 private:
  std::atomic<int> count_ = 0;
};

/// Whether a thread comes to help with `form` when it is given many numbers, again and again.
template <typename Form>
bool is_shared(Form form) {
  tbb::task_arena arena(4);
  Helpers helpers(arena);
  const auto called_with_helpers = [&] {
    Numbers numbers(300'000);
    std::generate(numbers.begin(), numbers.end(), std::mt19937(1));
    arena.execute([&] { form(numbers); });
    return helpers.count() > 0;
  };
  return test_support::eventually(called_with_helpers);
}

TEST(parallel_algorithms, every_parallel_form_shares_its_work_with_other_threads) {
  const tbb::global_control four(tbb::global_control::max_allowed_parallelism, 4);
  EXPECT_TRUE(is_shared(sum_par));
  EXPECT_TRUE(is_shared(sum_tbb));
  EXPECT_TRUE(is_shared(transform_par));
  EXPECT_TRUE(is_shared(transform_tbb));
  EXPECT_TRUE(is_shared(scan_par));
  EXPECT_TRUE(is_shared(scan_tbb));
  EXPECT_TRUE(is_shared(sort_par));
  EXPECT_TRUE(is_shared(sort_tbb));
}
#endif

TEST(parallel_algorithms, the_sequential_forms_do_what_their_names_say) {
  const Numbers numbers = {5, 2, 4'294'967'295, 1};
  Numbers v = numbers;
  EXPECT_EQ(sum(v), 7U);
  transform(v);
  EXPECT_EQ(v, (Numbers{16, 7, 4'294'967'294, 4}));
  v = numbers;
  scan(v);
  EXPECT_EQ(v, (Numbers{5, 7, 6, 7}));
  v = numbers;
  sort(v);
  EXPECT_EQ(v, (Numbers{1, 2, 5, 4'294'967'295}));
}

#ifdef __GLIBCXX__
TEST(parallel_algorithms_order, gccs_reduce_subtracts_in_groups_of_four_even_in_one_thread) {
  const std::vector<long> numbers = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(std::reduce(numbers.begin(), numbers.begin() + 4, 0L, std::minus<>()), 0 - ((1 - 2) - (3 - 4)));
  EXPECT_EQ(std::reduce(numbers.begin(), numbers.end(), 0L, std::minus<>()), -9);  // the one that is left over
}

TEST(parallel_algorithms_order, gccs_reduce_adds_in_the_type_of_the_start_with_par_and_in_that_of_the_numbers_without) {
  const Numbers numbers(8, 4'000'000'000);
  EXPECT_EQ(std::reduce(par, numbers.begin(), numbers.end(), 0L), 32'000'000'000);
  EXPECT_LT(std::reduce(numbers.begin(), numbers.end(), 0L), 32'000'000'000);
}
#endif

TEST(parallel_algorithms_bench, measures_each_job_in_the_cache_and_beyond) {
  const auto result = run("parallel_algorithms_bench", {"--json", "--log2", "17", "--rounds", "1"},
                          {.environment = {{"COOKBOOK_ROUNDS", "1"}}});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const std::string job :
       {"sum", "transform", "transform by a function", "transform by 200 operations", "scan", "sort"}) {
    for (const std::string size : {"10", "16", "17"}) {
      for (const std::string row : {"sequential", "std::execution::par", "oneTBB"}) {
        EXPECT_EQ(result.lines_with("\"table\": \"" + job + ", 2\\^" + size + " numbers\", \"row\": \"" + row).size(),
                  1U)
            << result.text();
      }
    }
  }
}

}  // namespace
