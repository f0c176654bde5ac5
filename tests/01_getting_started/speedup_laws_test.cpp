// The laws and the job in the process, the program from outside.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <latch>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <thread>
#include <tuple>

#include "01_getting_started/speedup_laws/job.hpp"
#include "01_getting_started/speedup_laws/laws.hpp"

namespace {

std::set<std::tuple<long, long, int>> jobs;  // that the program has run: serial units, all units, threads

template <typename Unit>
Sum noted_run(const Job& job, int threads, Unit unit) {
  jobs.emplace(job.serial, job.units, threads);
  return run(job, threads, unit);
}

}  // namespace

#define main main_of_the_program  // to see which jobs it runs
#define run noted_run
#include "01_getting_started/speedup_laws/speedup_laws.cpp"
#undef run
#undef main

#include "cookbook/affinity.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using test_support::run;

/// The row of the table for that number of processors, as far as the gain with the same work, and as far as its end,
/// the gain with more work. Each captures that gain.
std::string same_work_of(const std::string& processors) {
  return "^ +" + processors + " +\\d+ \\+ +[0-9.]+ +[0-9.]+ +([0-9.]+) x";
}
std::string more_work_of(const std::string& processors) { return "^ +" + processors + " .* ([0-9.]+) x$"; }

TEST(speedup_laws, formulas_give_the_numbers_that_are_known) {
  EXPECT_EQ(speedup(8, 2), 4);
  EXPECT_EQ(efficiency(4, 4), 1) << "linear";
  EXPECT_EQ(efficiency(4, 5), 0.8) << "real";
  EXPECT_NEAR(efficiency(4, 3), 4.0 / 3, 1e-12) << "superlinear";
  const std::map<int, double> by_amdahl = {{1, 1}, {2, 1.8182}, {4, 3.0769}, {8, 4.7059}, {10, 5.2632}, {100, 9.1743}};
  for (const auto& [processors, gain] : by_amdahl) EXPECT_NEAR(amdahl(0.1, processors), gain, 5e-5) << processors;
  const std::map<int, double> by_gustafson = {{1, 1}, {2, 1.9}, {4, 3.7}, {8, 7.3}, {10, 9.1}, {100, 90.1}};
  for (const auto& [processors, gain] : by_gustafson) EXPECT_NEAR(gustafson(0.1, processors), gain, 1e-9) << processors;
  EXPECT_EQ(amdahl_limit(0.1), 10);
  EXPECT_NEAR(amdahl(0.1, 1e12), amdahl_limit(0.1), 1e-6);
  EXPECT_EQ(gustafson(0, 64), 64);
  EXPECT_EQ(gustafson(1, 64), 1);
}

TEST(speedup_laws, laws_agree_with_each_other) {
  for (const double serial_part : {0.0, 0.1, 0.5, 1.0}) {
    for (const double processors : {2.0, 3.0, 64.0}) {
      EXPECT_NEAR(serial_part_of(amdahl(serial_part, processors), processors), serial_part, 1e-12);
      EXPECT_LE(amdahl(serial_part, processors), gustafson(serial_part, processors) + 1e-12);
    }
  }
}

TEST(speedup_laws, the_same_work_stays_and_more_work_grows_in_its_parallel_part_alone) {
  const Job same = same_work(200, 0.25);
  EXPECT_EQ(same.serial, 50);
  EXPECT_EQ(same.units, 200);
  for (const int threads : {1, 2, 7}) {
    const Job more = more_work(200, 0.25, threads);
    EXPECT_EQ(more.serial, 50) << threads;
    EXPECT_EQ(more.units, 50 + 150 * threads) << threads;
  }
}

TEST(speedup_laws, the_serial_part_is_done_first_and_by_one_thread_the_rest_in_equal_shares) {
  for (const int threads : {1, 2, 3, 8}) {
    const Job job = {30, 30 + 24 * threads};
    std::mutex mutex;
    std::vector<std::pair<long, std::thread::id>> done;
    const Sum sum = ::run(job, threads, [&](long i) {
      const std::scoped_lock lock(mutex);
      done.emplace_back(i, std::this_thread::get_id());
      return static_cast<Sum>(i);
    });
    EXPECT_EQ(sum, static_cast<Sum>(job.units * (job.units - 1) / 2));
    ASSERT_EQ(done.size(), static_cast<std::size_t>(job.units));
    std::set<long> units;
    std::map<std::thread::id, int> parallel_units;
    for (std::size_t place = 0; place < done.size(); ++place) {
      const auto& [unit, thread] = done[place];
      units.insert(unit);
      if (unit < job.serial) {
        EXPECT_EQ(place, static_cast<std::size_t>(unit)) << "the serial units come first, in their order";
        EXPECT_EQ(thread, std::this_thread::get_id());
      } else {
        ++parallel_units[thread];
      }
    }
    EXPECT_EQ(units.size(), done.size()) << "a unit was done twice";
    EXPECT_EQ(parallel_units.size(), static_cast<std::size_t>(threads));
    for (const auto& [thread, count] : parallel_units) EXPECT_EQ(count, 24);
  }
}

TEST(speedup_laws, the_shares_are_done_at_the_same_time) {
  test_support::with_watchdog([] {
    std::latch all_have_begun(3);
    const Sum sum = ::run({4, 4 + 3}, 3, [&](long i) {
      if (i >= 4) all_have_begun.arrive_and_wait();  // a thread that waits for another one's end would wait for ever
      return Sum{1};
    });
    EXPECT_EQ(sum, 7U);
  });
}

TEST(speedup_laws, the_program_has_the_laws_up_to_16_processors_and_figures_as_far_as_it_has_measured) {
  const auto result = run("speedup_laws", {"--threads", "5", "--serial", "10", "--units", "300"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    runs whose sum differs from the plain loop's: 0")) << result.text();
  const std::string time = " +10 \\+ +[0-9.]+", work = " +10 \\+ +\\d+", law = " +[0-9.]+";
  const std::string measured = "^ +(\\d+)" + time + law + " +[0-9.]+ x" + work + law + " +[0-9.]+ x$";
  EXPECT_EQ(result.captures(measured), (std::vector<std::string>{"1", "2", "4", "5"})) << result.text();
  EXPECT_EQ(result.captures("^ +(\\d+)" + time + law + " +-" + work + law + " +-$"),
            (std::vector<std::string>{"8", "16"}))
      << result.text();
  EXPECT_EQ(result.captures("^ +4" + time + " +([0-9.]+) "), std::vector<std::string>{"3.08"}) << result.text();
  EXPECT_EQ(result.captures("^ +4 .* x" + work + " +([0-9.]+) "), std::vector<std::string>{"3.70"}) << result.text();
  EXPECT_EQ(result.captures("^any number +10 \\+ +0.0 +([0-9.]+) +- +no limit +no limit +-$"),
            std::vector<std::string>{"10.00"})
      << result.text();
}

TEST(speedup_laws, each_number_of_threads_has_the_same_work_and_more_work) {
  std::string name = "speedup_laws", threads = "--threads", three = "3", serial = "--serial", percent = "20",
              units = "--units", fifty = "50";
  char* arguments[] = {name.data(),    threads.data(), three.data(), serial.data(),
                       percent.data(), units.data(),   fifty.data(), nullptr};
  EXPECT_EQ(main_of_the_program(7, arguments), 0);
  const std::set<std::tuple<long, long, int>> expected = {
      {10, 50, 1}, {10, 50, 2}, {10, 10 + 2 * 40, 2}, {10, 50, 3}, {10, 10 + 3 * 40, 3}};
  EXPECT_EQ(jobs, expected);
}

TEST(speedup_laws, the_time_and_the_work_of_a_row_give_its_two_laws) {
  const auto result = run("speedup_laws", {"--threads", "2", "--serial", "40", "--units", "300"});
  const std::string row = "^ +\\d+ +40 \\+ +([0-9.]+) +([0-9.]+) .* 40 \\+ +(\\d+) +([0-9.]+) ";
  int rows = 0;
  for (const std::string& line : result.lines_with(row)) {
    std::smatch match;
    ASSERT_TRUE(std::regex_search(line, match, std::regex(row)));
    EXPECT_NEAR(100 / (40 + std::stod(match[1])), std::stod(match[2]), 0.01) << line;
    EXPECT_NEAR((40 + std::stod(match[3])) / 100, std::stod(match[4]), 0.01) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 5) << result.text();
}

TEST(speedup_laws, more_threads_than_sixteen_get_rows_too) {
  const auto result = run("speedup_laws", {"--threads", "40", "--units", "10"});
  EXPECT_EQ(result.captures("^ +(\\d+) .* x$"), (std::vector<std::string>{"1", "2", "4", "8", "16", "32", "40"}))
      << result.text();
}

// To start a thread takes far longer than one unit of two microseconds, so here two threads are slower than one.
TEST(speedup_laws, both_gains_are_those_of_the_job_with_so_many_threads) {
  const auto result = run("speedup_laws", {"--threads", "2", "--units", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const std::string& column : {same_work_of("[12]"), more_work_of("[12]")}) {
    const auto gain = result.captures(column);
    ASSERT_EQ(gain.size(), 2U) << result.text();
    EXPECT_GT(std::stod(gain[0]), 0) << result.text();
    EXPECT_LT(std::stod(gain[1]), 1) << result.text();
  }
}

// The form for threads costs one thread about 1 % of the time of one unit. Compared with itself it would cost nothing.
TEST(speedup_laws, the_gain_is_compared_with_the_loop_and_not_with_one_thread) {
  std::string gain = "1.00";
  for (int i = 0; i < 30 && gain == "1.00"; ++i) {
    const auto result = run("speedup_laws", {"--threads", "1", "--units", "1"});
    const auto gains = result.captures(same_work_of("1"));
    ASSERT_EQ(gains.size(), 1U) << result.text();
    gain = gains[0];
  }
  EXPECT_NE(gain, "1.00");
}

// The time of another job would give far more: sixteen times the work in the time of the same work.
TEST(speedup_laws, no_job_gains_far_more_than_there_are_processors) {
  const auto result = run("speedup_laws", {"--threads", "16", "--serial", "1"}, {.limit = std::chrono::seconds(60)});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const std::string& column : {same_work_of("16"), more_work_of("16")}) {
    const auto gain = result.captures(column);
    ASSERT_EQ(gain.size(), 1U) << result.text();
    EXPECT_LT(std::stod(gain[0]), 3 * std::min(16, cookbook::allowed_processors())) << result.text();
  }
}

// Such a job is no larger for more threads. If it were taken for one, the gain would be that number of threads.
TEST(speedup_laws, a_job_without_a_parallel_part_gains_nothing) {
  const auto result = run("speedup_laws", {"--threads", "4", "--serial", "100", "--units", "1000"});
  const auto gain = result.captures(more_work_of("4"));
  ASSERT_EQ(gain.size(), 1U) << result.text();
  EXPECT_LT(std::stod(gain[0]), 2) << result.text();
}

TEST(speedup_laws_timing, one_thread_gains_nothing_and_two_do) {
  const auto result = run("speedup_laws", {"--threads", "2"});
  const auto same = result.captures(same_work_of("[12]")), more = result.captures(more_work_of("[12]"));
  ASSERT_TRUE(same.size() == 2 && more.size() == 2) << result.text();
  for (const auto& gains : {same, more}) {
    EXPECT_GT(std::stod(gains[0]), 0.8) << result.text();
    EXPECT_LT(std::stod(gains[0]), 1.25) << result.text();
  }
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core";
  EXPECT_GT(std::stod(same[1]), 1.3) << result.text();
  EXPECT_GT(std::stod(more[1]), 1.3) << result.text();
  EXPECT_LT(std::stod(more[1]), 2.2) << "the time of another job\n" << result.text();
}

}  // namespace
