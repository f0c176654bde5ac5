// The program's output, the page for Prometheus, and the metrics from inside.

#include "07_cloud/function_metrics/metrics.hpp"
#include "07_cloud/function_metrics/prometheus.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <latch>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

/// The value of a line of the page; -1 if there is none.
double value_of(const std::string& page, const std::string& line) {
  const auto at = ("\n" + page).find("\n" + line + " ");
  return at == std::string::npos ? -1 : std::stod(page.substr(at + line.size()));
}

TEST(function_metrics, counts_are_exact_for_any_number_of_threads) {
  for (const int threads : {1, 3, 16}) {
    const auto result = run("function_metrics", {"--threads", std::to_string(threads), "--calls", "100"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string all = std::to_string(100 * threads), failed = std::to_string(10 * threads);
    EXPECT_TRUE(result.has_line("ok    calls counted: [" + all + ", " + all + "]")) << result.text();
    EXPECT_TRUE(result.has_line("ok    errors counted: [" + failed + ", 0]")) << result.text();
  }
}

TEST(function_metrics, shows_a_mean_that_hardly_any_call_takes) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = run("function_metrics");
  const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
  const auto row = result.captures("^load +4000 +0 +([0-9.]+) us +(?:1|2|4) us +(?:4096|8192|16384|32768) us$");
  ASSERT_EQ(row.size(), 1U) << result.text();
  EXPECT_GT(std::stod(row[0]), 250) << "a tenth of 2.5 ms";
  EXPECT_LE(std::stod(row[0]) * 1'000, us.count()) << "each thread makes 1,000 calls one after another";
  const auto calls_that_took = [&](const std::string& time) {
    const auto found = result.captures("^ +" + time + " +(\\d+)$");
    return found.size() == 1 ? std::stoi(found[0]) : -10'000;
  };
  const int quick = calls_that_took("0 to +1 us"), rather = calls_that_took("1 to +64 us"),
            between = calls_that_took("64 to 1024 us"), none = calls_that_took("1024 to 2048 us"),
            slow = calls_that_took("2048 to 4096 us"), longer = calls_that_took("longer");
  EXPECT_EQ(quick + rather + between + none + slow + longer, 4000) << result.text();
  EXPECT_GE(slow + longer, 400) << "these sleep for 2.5 ms";
  EXPECT_GT(quick + rather, 2000) << "the others do nothing";
  EXPECT_LT(between + none, 400);
}

TEST(function_metrics, reading_the_clock_is_a_part_of_counting) {
  int counting = 0, clock = 1;
  for (int attempt = 0; attempt < 10 && counting <= clock; ++attempt) {  // on a busy machine either may be disturbed
    const auto result = run("function_metrics", {"--calls", "10"});
    const auto found = result.captures("^counting a call takes (\\d+) ns, \\d+ ns of them to read the clock twice$"),
               of_them = result.captures("^counting a call takes \\d+ ns, (\\d+) ns of them to read the clock twice$"),
               two = result.captures("^while a second thread counts, too, it takes (\\d+) ns$");
    ASSERT_TRUE(found.size() == 1 && of_them.size() == 1 && two.size() == 1) << result.text();
    counting = std::stoi(found[0]), clock = std::stoi(of_them[0]);
    EXPECT_GE(clock, 2) << result.text();
  }
  EXPECT_GT(counting, clock);
}

TEST(function_metrics, prometheus_reads_the_page) {
  const test_support::TemporaryDirectory folder;
  const std::string file = folder.path / "page";
  ASSERT_EQ(run("function_metrics", {"--threads", "4", "--calls", "20", "--file", file}).exit_code, 0);
  const std::string page = test_support::text_of(file);
  EXPECT_EQ(value_of(page, "function_duration_seconds_count{function=\"divide\"}"), 80);
  EXPECT_EQ(value_of(page, "function_errors_total{function=\"divide\"}"), 8);
  EXPECT_EQ(value_of(page, "function_errors_total{function=\"load\"}"), 0);
  EXPECT_GE(value_of(page, "function_duration_seconds_sum{function=\"load\"}"), 8 * 0.002);
  double calls = 0, longest_sum = 0;  // the sum if each call took as long as its bucket's end
  for (std::size_t i = 0; i < Histogram::Counts().size(); ++i) {
    const double end = Histogram::limit(i);
    const std::string name = std::isinf(end) ? "+Inf" : fmt::format("{}", end);
    const double up_to_here = value_of(page, "function_duration_seconds_bucket{function=\"load\",le=\"" + name + "\"}");
    if (up_to_here > calls) longest_sum += (up_to_here - calls) * end;
    calls = up_to_here;
  }
  EXPECT_EQ(calls, 80);
  EXPECT_LE(value_of(page, "function_duration_seconds_sum{function=\"load\"}"), longest_sum);

  const auto parser = run("/bin/sh", {"-c", "command -v promtool || exit 77; exec promtool check metrics < " + file});
  if (parser.exit_code == 77) GTEST_SKIP() << "no promtool; install prometheus";
  EXPECT_EQ(parser.exit_code, 0) << parser.text();
  EXPECT_TRUE(parser.err.empty()) << parser.text();
}

TEST(function_metrics, a_file_that_cannot_be_written_is_an_error) {
  const auto result = run("function_metrics", {"--calls", "10", "--file", "/no/such/folder/page"});
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_EQ(result.err.size(), 1U) << result.text();
}

TEST(function_metrics_histogram, a_bucket_takes_what_is_above_the_one_before_and_not_above_its_end) {
  for (std::size_t bucket = 0; bucket + 1 < Histogram::Counts().size(); ++bucket) {
    const std::chrono::nanoseconds end(1000L << bucket);
    Histogram histogram;
    histogram.add(end);
    histogram.add(end + 1ns);
    EXPECT_EQ(histogram.counts[bucket], 1U) << bucket;
    EXPECT_EQ(histogram.counts[bucket + 1], 1U) << bucket;
    EXPECT_DOUBLE_EQ(Histogram::limit(bucket), 1e-9 * static_cast<double>(end.count()));
  }
  Histogram extremes;
  extremes.add(0ns);
  extremes.add(1h);
  EXPECT_EQ(extremes.counts.front(), 1U);
  EXPECT_EQ(extremes.counts.back(), 1U);
  EXPECT_EQ(extremes.sum, 1h);
}

TEST(function_metrics_class, no_call_is_lost_when_many_threads_count_at_once) {
  FunctionMetrics metrics("f");
  constexpr int threads = 4, calls = 300'000;
  std::latch all_started(threads);
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < threads; ++i) {
      callers.emplace_back([&] {
        all_started.arrive_and_wait();
        for (int call = 0; call < calls; ++call) metrics.call([] {});
      });
    }
  }
  EXPECT_EQ(metrics.read().latencies.total(), std::uint64_t{threads} * calls);
}

TEST(function_metrics_histogram, a_quantile_is_never_below_the_right_one_and_less_than_twice_as_long) {
  Histogram histogram;
  for (int call = 1; call <= 1000; ++call) histogram.add(call * 10us);
  for (const int percent : {1, 25, 50, 90, 99, 100}) {
    const double right = percent * 1e-4;  // 10 calls of 10 us each per percent
    const double estimate = quantile(histogram, percent / 100.0);
    EXPECT_GE(estimate, right) << percent;
    EXPECT_LT(estimate, 2 * right) << percent;
  }
  EXPECT_EQ(quantile(Histogram(), 0.5), 0) << "no calls";
}

TEST(function_metrics_class, latencies_are_at_least_what_the_function_takes) {
  FunctionMetrics metrics("nap");
  for (int i = 0; i < 5; ++i) metrics.call([] { std::this_thread::sleep_for(3ms); });
  EXPECT_GE(metrics.read().latencies.sum, 15ms);
  EXPECT_GE(quantile(metrics.read().latencies, 0.01), 0.003);
}

TEST(function_metrics_class, results_and_exceptions_come_through_and_only_exceptions_are_errors) {
  FunctionMetrics metrics("f");
  EXPECT_EQ(metrics.call([] { return 7; }), 7);
  EXPECT_THROW(metrics.call([] { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(metrics.read().latencies.total(), 2U);
  EXPECT_EQ(metrics.read().errors, 1U);
}

TEST(function_metrics_class, holds_no_lock_while_the_function_runs) {
  auto metrics = std::make_shared<FunctionMetrics>("outer");
  std::promise<void> done;
  std::thread([metrics, &done] {
    metrics->call([&] { metrics->call([] {}); });
    done.set_value();
  }).detach();
  if (done.get_future().wait_for(20s) != std::future_status::ready) {
    std::puts("the function that it calls waits for ever");
    std::_Exit(1);  // nobody can end that thread
  }
  EXPECT_EQ(metrics->read().latencies.total(), 2U);
}

TEST(function_metrics_histogram, a_total_of_some_buckets_has_the_first_and_the_last_one) {
  Histogram histogram;
  for (std::size_t bucket = 0; bucket < histogram.counts.size(); ++bucket) histogram.counts[bucket] = 1U << bucket;
  EXPECT_EQ(histogram.total(0, 0), 1U);
  EXPECT_EQ(histogram.total(3, 5), 8U + 16U + 32U);
  EXPECT_EQ(histogram.total(0, 21), histogram.total());
}

TEST(function_metrics_class, a_call_during_the_clean_up_after_another_exception_is_no_error) {
  FunctionMetrics metrics("clean_up");
  struct CleanUp {
    FunctionMetrics& metrics;
    ~CleanUp() {
      metrics.call([] {});
    }
  };
  try {
    const CleanUp clean_up{metrics};
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(metrics.read().latencies.total(), 1U);
  EXPECT_EQ(metrics.read().errors, 0U);
}

/// Two threads that call a function which fails, again and again until `stop`.
std::vector<std::jthread> start_failing_callers(FunctionMetrics& metrics, const std::atomic<bool>& stop) {
  std::vector<std::jthread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      while (!stop) {
        try {
          metrics.call([] { throw 1; });
        } catch (int) {
        }
      }
    });
  }
  return callers;
}

TEST(function_metrics_class, a_reading_is_about_the_same_calls) {
  FunctionMetrics metrics("fails");
  std::atomic<bool> stop = false;
  const std::vector<std::jthread> callers = start_failing_callers(metrics, stop);
  long changed = 0, different = 0;
  std::uint64_t before = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (changed < 1'000 && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();  // a reader in a tight loop would keep the callers from the lock
    const FunctionMetrics::Reading reading = metrics.read();
    changed += reading.errors != std::exchange(before, reading.errors);
    different += reading.errors != reading.latencies.total();  // every call is an error
  }
  stop = true;
  EXPECT_EQ(different, 0) << "of readings with another number of calls than the one before: " << changed;
  EXPECT_GE(changed, 1'000);
}

TEST(function_metrics_prometheus_page, fits_together_while_threads_go_on_counting) {
  FunctionMetrics functions[] = {FunctionMetrics("busy")};
  std::atomic<bool> stop = false;
  const std::vector<std::jthread> callers = start_failing_callers(functions[0], stop);
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    const std::string page = prometheus_page(functions);
    const double count = value_of(page, "function_duration_seconds_count{function=\"busy\"}");
    EXPECT_EQ(count, value_of(page, "function_duration_seconds_bucket{function=\"busy\",le=\"+Inf\"}"));
    EXPECT_EQ(value_of(page, "function_errors_total{function=\"busy\"}"), count) << "every call is an error";
    std::istringstream lines(page);
    double before = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("_bucket") == std::string::npos) continue;
      const double here = std::stod(line.substr(line.rfind(' ')));
      EXPECT_GE(here, before) << line;
      before = here;
    }
  }
  stop = true;
}

TEST(function_metrics_prometheus_page, a_name_cannot_end_its_label) {
  const FunctionMetrics functions[] = {FunctionMetrics("a\"} 1\nb\\")};
  const std::string page = prometheus_page(functions);
  EXPECT_NE(page.find("function_errors_total{function=\"a\\\"} 1\\nb\\\\\"} 0\n"), std::string::npos) << page;
  EXPECT_EQ(page.find("\nb"), std::string::npos) << "no line begins within the name";
}

TEST(function_metrics_average, shows_a_time_that_is_not_the_quantile_of_all_calls) {
  const auto result = run("function_metrics_average");
  EXPECT_TRUE(result.has_line("99 % of all calls:           66 ms")) << result.text();
}

}  // namespace
