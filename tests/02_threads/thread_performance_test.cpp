// The program's output, and its parts from inside. The catalogue's figures of F(10000) were computed elsewhere.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define main main_of_the_program
#include "02_threads/thread_performance/thread_performance.cpp"
#undef main

#include "support/client.hpp"
#include "support/eventually.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

/// The number as one text of digits.
std::string digits(const std::vector<std::uint64_t>& number) {
  std::string text = std::to_string(number.back());
  for (auto part = number.rbegin() + 1; part != number.rend(); ++part) text += fmt::format("{:018}", *part);
  return text;
}

long open_files() {
  using Iterator = std::filesystem::directory_iterator;
  return std::distance(Iterator("/proc/self/fd"), Iterator());
}

TEST(thread_performance, four_functions_are_called_in_both_ways) {
  for (const int n : {2, 5}) {
    const auto result = run("thread_performance", {"--calls", std::to_string(n)}, {.descriptors_left = 1});  // its file
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.captures("^(.*\\S) +[0-9.]+ ms +\\d+ % +[0-9.]+ ms +[0-9.]+ ms +[0-9.e+-]+ x$"),
              (std::vector<std::string>{"Fibonacci number 20000", "1000 blocks of a file", "10 web pages",
                                        "5 ms with a lock held"}));
    EXPECT_TRUE(result.has_line("ok    results in threads that differ from those one by one: 0")) << result.text();
    EXPECT_TRUE(result.has_line("ok    several pages were waited for at the same time: yes")) << result.text();
  }
}

/// What a row of the table shows.
struct Row {
  double one_by_one = 0, busy = 0, predicted = 0, threads = 0, gain = 0;
};

Row row(const test_support::Result& result, const std::string& name) {
  const std::string number = "([0-9.e+-]+)";
  const auto column = [&](const std::string& before, const std::string& after) {
    const auto found = result.captures("^" + name + " +" + before + number + after);
    EXPECT_EQ(found.size(), 1U) << name << result.text();
    return found.empty() ? -1 : std::stod(found[0]);
  };
  const std::string busy = "[0-9.]+ ms +", prediction = busy + "\\d+ % +", threads = prediction + "[0-9.]+ ms +";
  return {column("", " ms"), column(busy, " %") / 100, column(prediction, " ms"), column(threads, " ms"),
          column(threads + "[0-9.]+ ms +", " x$")};
}

TEST(thread_performance, the_gain_is_the_time_one_by_one_divided_by_that_in_threads) {
  const Row pages = row(run("thread_performance", {}, {.descriptors_left = 1}), "10 web pages");
  const double ratio = pages.one_by_one / pages.threads;
  EXPECT_NEAR(pages.gain, ratio, 0.03 * ratio);  // printed with one digit after the point
  EXPECT_GT(pages.gain, 1) << "eight threads wait at the same time, and not for 8 * 10 * 1 ms";
}

TEST(thread_performance, the_prediction_is_the_start_and_the_shared_work_or_a_single_call) {
  for (const int n : {2, 8}) {
    const auto result = run("thread_performance", {"--calls", std::to_string(n)}, {.descriptors_left = 1});
    const auto starts =
        result.captures("^to start " + std::to_string(n) + " threads and to wait for their ends: ([0-9.]+) ms$");
    ASSERT_EQ(starts.size(), 1U) << result.text();
    const double start = std::stod(starts[0]);
    EXPECT_GT(start, 0) << result.text();
    for (const std::string name :
         {"Fibonacci number 20000", "1000 blocks of a file", "10 web pages", "5 ms with a lock held"}) {
      const Row one = row(result, name);
      const double work = one.busy * one.one_by_one / cookbook::allowed_processors(), call = one.one_by_one / n;
      // The share of the time is printed in whole percent.
      EXPECT_NEAR(one.predicted, start + std::max(work, call), 0.01 + 0.006 * one.one_by_one) << name << result.text();
      if (call > 1.1 * work) {
        EXPECT_NEAR(one.predicted, start + call, 0.002) << name << result.text();
      }
    }
    EXPECT_GT(row(result, "Fibonacci number 20000").busy, row(result, "10 web pages").busy) << result.text();
  }
}

TEST(thread_performance, calls_one_by_one_wait_for_each_of_their_pages) {
  const Row pages = row(run("thread_performance", {}, {.descriptors_left = 1}), "10 web pages");
  EXPECT_GE(pages.one_by_one, 8 * 10 * 1);  // 8 calls, 10 pages, 1 ms
}

TEST(thread_performance, calls_that_hold_a_lock_wait_one_by_one_in_threads_as_well) {
  const Row lock = row(run("thread_performance", {"--calls", "4"}, {.descriptors_left = 1}), "5 ms with a lock held");
  EXPECT_GE(lock.one_by_one, 4 * 5);
  EXPECT_GE(lock.threads, 4 * 5) << "two threads slept at the same time";
}

TEST(thread_performance, busy_is_this_thread_alone) {
  const double before = busy_seconds();
  double other = 0;
  std::jthread([&] {
    while (busy_seconds() < 0.1) continue;
    other = busy_seconds();
  }).join();
  EXPECT_LT(busy_seconds() - before, other / 2) << "the work of another thread is counted as well";
}

TEST(thread_performance, the_larger_limit_counts) {
  const int processors = cookbook::allowed_processors();
  EXPECT_DOUBLE_EQ(predicted({.one_by_one = 8, .busy = 0}, 3, 4), 3 + 2);
  EXPECT_DOUBLE_EQ(predicted({.one_by_one = 8.0 * processors, .busy = 8.0 * processors}, 3, 100 * processors), 3 + 8);
}

TEST(thread_performance_calls, each_way_calls_exactly_n_times_and_returns_all_results) {
  for (const int n : {0, 1, 2, 4, 8, 50}) {
    std::atomic<int> count = 0;
    const auto function = [&] { return ++count; };
    std::vector<int> serial = one_by_one(n, function), threaded = in_threads(n, function);
    EXPECT_EQ(count, 2 * n);
    serial.insert(serial.end(), threaded.begin(), threaded.end());
    std::sort(serial.begin(), serial.end());
    for (int i = 0; i < 2 * n; ++i) EXPECT_EQ(serial[i], i + 1);
  }
}

TEST(thread_performance_calls, one_by_one_stays_in_this_thread_and_in_threads_has_a_thread_per_call) {
  for (const auto& id : one_by_one(3, [] { return std::this_thread::get_id(); })) {
    EXPECT_EQ(id, std::this_thread::get_id());
  }
  std::latch all_there(8);  // opens only if eight threads run at the same time
  const auto limit = std::chrono::steady_clock::now() + 10s;
  auto ids = in_threads(8, [&] {
    all_there.count_down();
    while (!all_there.try_wait() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    EXPECT_TRUE(all_there.try_wait());
    return std::this_thread::get_id();
  });
  ids.push_back(std::this_thread::get_id());
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
}

/// Returns which object is called.
struct Itself {
  const void* operator()() const { return this; }
};

TEST(thread_performance_calls, all_threads_call_the_same_function_object) {
  const auto called = in_threads(4, Itself());
  EXPECT_EQ(std::count(called.begin(), called.end(), called[0]), 4);
}

TEST(thread_performance_calls, what_a_call_throws_reaches_the_caller_when_all_have_ended) {
  std::atomic<int> ended = 0;
  const auto fails = [&]() -> int {
    if (++ended == 2) throw std::runtime_error("no page today");
    return 0;
  };
  EXPECT_THROW(in_threads(4, fails), std::runtime_error);
  EXPECT_EQ(ended, 4);
  EXPECT_THROW(one_by_one(4, []() -> int { throw std::runtime_error("no page today"); }), std::runtime_error);
}

TEST(thread_performance_jobs, fibonacci_numbers_are_right_beyond_64_bits) {
  EXPECT_EQ(digits(fibonacci(0)), "0");
  EXPECT_EQ(digits(fibonacci(1)), "1");
  EXPECT_EQ(digits(fibonacci(2)), "1");
  EXPECT_EQ(digits(fibonacci(87)), "679891637638612258");    // the last with 18 digits
  EXPECT_EQ(digits(fibonacci(88)), "1100087778366101931");   // takes a second element
  EXPECT_EQ(digits(fibonacci(92)), "7540113804746346429");   // the last that fits a signed number of 64 bits
  EXPECT_EQ(digits(fibonacci(93)), "12200160415121876738");  // the last that fits an unsigned one
  EXPECT_EQ(digits(fibonacci(94)), "19740274219868223167");

  const std::string number = digits(fibonacci(10'000));
  EXPECT_EQ(number.size(), 2090U);
  EXPECT_EQ(number.substr(0, 20), "33644764876431783266");
  EXPECT_EQ(number.substr(number.size() - 20), "66073310059947366875");
  std::uint64_t modulo_2_64 = 0, remainder = 0;
  for (const char digit : number) {
    modulo_2_64 = modulo_2_64 * 10 + (digit - '0');
    remainder = (remainder * 10 + (digit - '0')) % 1'000'000'007;
  }
  EXPECT_EQ(modulo_2_64, 15574651946073070043U);
  EXPECT_EQ(remainder, 271496360U);
}

TEST(thread_performance_jobs, every_thread_reads_the_whole_file) {
  EXPECT_EQ(in_threads(4, [path = make_block_file()] { return read_blocks(path); }), std::vector<long>(4, 1'024'000));
}

TEST(thread_performance_jobs, a_shorter_file_gives_what_it_has_and_a_longer_one_1000_blocks) {
  const test_support::TemporaryDirectory folder;
  const std::string path = folder.path / "file";
  for (const long size : {0, 1, 1023, 1024, 1500, 2'000'000}) {
    std::ofstream(path) << std::string(size, 'x');
    EXPECT_EQ(read_blocks(path), std::min(size, 1'024'000L));
  }
}

TEST(thread_performance_jobs, a_missing_file_is_reported_from_any_thread) {
  EXPECT_THROW(read_blocks("/no/such/file"), std::runtime_error);
  EXPECT_THROW(in_threads(2, [] { return read_blocks("/no/such/file"); }), std::runtime_error);
}

TEST(thread_performance_jobs, ten_requests_per_call_one_at_a_time_or_all_threads_at_once) {
  PageServer server(0us);
  EXPECT_EQ(one_by_one(3, [&] { return fetch_pages(server.port()); }), std::vector<long>(3, 10'240));
  EXPECT_EQ(server.requests(), 30);
  EXPECT_EQ(server.most_at_once(), 1);
  PageServer slow(20ms);
  EXPECT_EQ(in_threads(8, [&] { return fetch_pages(slow.port()); }), std::vector<long>(8, 10'240));
  EXPECT_EQ(slow.requests(), 80);
  EXPECT_GE(slow.most_at_once(), 2);
}

TEST(thread_performance_jobs, the_server_makes_nobody_wait_for_the_answers_to_others) {
  PageServer server(20ms);
  in_threads(8, [&] { return fetch_pages(server.port()); });
  server.most_at_once();
  EXPECT_TRUE(test_support::eventually([&] {  // on a busy machine some clients begin when others have ended
    in_threads(40, [&] { return fetch_pages(server.port()); });
    return server.most_at_once() >= 30;
  }));
}

TEST(thread_performance_jobs, the_server_tells_its_counts_while_it_answers) {
  PageServer server(1ms), other(1ms);  // ThreadSanitizer sees whether the counts are read under the lock
  std::jthread client([&] { fetch_pages(server.port()); }), second([&] { fetch_pages(other.port()); });
  EXPECT_TRUE(test_support::eventually([&] { return server.requests() == 10; }));
  EXPECT_TRUE(test_support::eventually([&] { return other.most_at_once() == 1; }));
}

TEST(thread_performance_jobs, the_server_gives_the_memory_of_its_old_threads_back) {
  const auto gib = [] {  // of addresses that this process uses; the stack of a thread takes some MiB of them
    return std::stod(test_support::text_of("/proc/self/statm")) * static_cast<double>(sysconf(_SC_PAGESIZE)) /
           (1 << 30);
  };
  PageServer server(0us);
  const auto ask = [&](int requests) {
    for (int i = 0; i < requests / 10; ++i) fetch_pages(server.port());
  };
  ask(300);  // it keeps 256 threads that have ended
  const double before = gib();
  ask(600);
  EXPECT_LT(gib(), before + 1) << "600 stacks of 8 MiB would be more than 4 GiB";
}

TEST(thread_performance_jobs, a_page_has_2000_bytes_and_says_so) {
  PageServer server(0us);
  test_support::Client client(server.port());
  ASSERT_TRUE(client.send(page_request));
  const std::string answer = client.receive(10'000);  // until the server ends the connection
  const std::size_t end_of_header = answer.find("\r\n\r\n");
  ASSERT_NE(end_of_header, std::string::npos) << answer;
  EXPECT_EQ(answer.substr(0, end_of_header), "HTTP/1.0 200 OK\r\nContent-Length: 2000");
  EXPECT_EQ(answer.substr(end_of_header + 4), std::string(2000, 'x'));
}

TEST(thread_performance_jobs, a_page_never_comes_before_the_delay) {
  PageServer server(5ms);
  const cookbook::Stopwatch watch;
  fetch_pages(server.port());
  EXPECT_GE(watch.seconds(), 0.05);
}

TEST(thread_performance_jobs, no_file_or_socket_stays_open) {
  const std::string path = make_block_file();
  const long before = open_files();
  {
    PageServer server(0us);
    in_threads(8, [&] { return read_blocks(path) + fetch_pages(server.port()); });
  }
  EXPECT_EQ(open_files(), before);
}

TEST(thread_performance_jobs_death, a_refused_connection_is_an_error) {
  std::uint16_t port = 0;
  {
    PageServer server(0us);
    port = server.port();
  }
  EXPECT_EXIT(fetch_pages(port), testing::ExitedWithCode(3), "connect in line [0-9]+: Connection refused");
}

TEST(thread_performance_timing, what_gains_and_what_does_not) {
  const auto seconds = [](auto work) {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      const cookbook::Stopwatch watch;
      work();
      best = std::min(best, watch.seconds());
    }
    return best;
  };
  const auto gain = [&](int n, auto function) {
    return seconds([&] { one_by_one(n, function); }) / seconds([&] { in_threads(n, function); });
  };
  PageServer server(5ms);
  for (const int n : {1, 2, 4, 8}) EXPECT_LT(gain(n, [] { return 0; }), 1) << n << " empty calls";
  EXPECT_GT(gain(8, [&] { return fetch_pages(server.port()); }), 4);
  if (cookbook::allowed_processors() > 1) {
    EXPECT_GT(gain(2, [] { return fibonacci(50'000); }), 1.3);
  }

  // To make threads takes time for each of them.
  const auto empty_threads = [&](int n) { return seconds([n] { in_threads(n, [] { return 0; }); }); };
  EXPECT_GT(empty_threads(8), empty_threads(1));
  EXPECT_LT(empty_threads(8), 5 * 8 * empty_threads(1));
}

}  // namespace
