// The circle in a graph of threads, the output of gdb, what the program prints, and what the page says of lock orders
// that ThreadSanitizer reports.

#define main main_of_the_program  // one of its functions is called from inside, too
#include "09_diagnosis/find_deadlock/find_deadlock.cpp"
#undef main

#include <sys/prctl.h>

#include <fstream>
#include <random>
#include <regex>

#include "09_diagnosis/run_tool.hpp"
#include "support/files.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using test_support::run;
using namespace std::chrono_literals;
using Threads = std::vector<int>;

/// Each pair is a thread and the one that holds what it waits for.
std::map<int, Waiting> graph(const std::vector<std::pair<int, int>>& edges) {
  std::map<int, Waiting> waiting;
  for (const auto& [thread, holder] : edges) waiting[thread] = {"", "", holder, ""};
  return waiting;
}

TEST(find_deadlock_circle, of_any_length_and_without_those_that_only_wait_for_it) {
  EXPECT_EQ(find_circle(graph({{5, 5}})), Threads{5}) << "a thread that waits for itself";
  EXPECT_EQ(find_circle(graph({{1, 2}, {2, 1}})), (Threads{1, 2}));
  EXPECT_EQ(find_circle(graph({{1, 2}, {2, 3}, {3, 1}})), (Threads{1, 2, 3}));
  EXPECT_EQ(find_circle(graph({{1, 3}, {2, 3}, {3, 4}, {4, 3}})), (Threads{3, 4})) << "1 and 2 only wait for it";
  EXPECT_EQ(find_circle(graph({{1, 2}, {3, 4}, {4, 3}})), (Threads{3, 4})) << "2 waits for nothing";
}

TEST(find_deadlock_circle, is_named_from_north_on_also_if_the_system_has_begun_its_numbers_anew) {
  const std::map<int, Waiting> waiting = {
      {2, {"east", "", 3, ""}}, {3, {"south", "", 30'000, ""}}, {30'000, {"north", "", 2, ""}}};
  EXPECT_THAT(names_in_circle(waiting), testing::ElementsAre("north", "east", "south"));
}

TEST(find_deadlock_circle, none_where_somebody_can_go_on) {
  EXPECT_EQ(find_circle({}), Threads{});
  EXPECT_EQ(find_circle(graph({{1, 2}, {2, 3}, {4, 3}})), Threads{}) << "3 runs";
  EXPECT_EQ(find_circle(graph({{1, 0}})), Threads{}) << "nobody holds the mutex";
}

TEST(find_deadlock_circle, is_found_in_random_graphs_if_and_only_if_there_is_one) {
  std::mt19937 random(7);
  for (int round = 0; round < 2'000; ++round) {
    std::map<int, Waiting> waiting;
    for (int thread = 0; thread < 7; ++thread) {
      if (random() % 4 != 0) waiting[thread].holder = static_cast<int>(random() % 7);
    }
    bool expected = false;  // whoever still waits after more steps than there are threads walks in a circle
    for (const auto& [start, unused] : waiting) {
      int thread = start, steps = 0;
      while (steps < 20 && waiting.contains(thread)) thread = waiting.at(thread).holder, ++steps;
      expected |= steps == 20;
    }
    const Threads circle = find_circle(waiting);
    ASSERT_EQ(!circle.empty(), expected);
    for (std::size_t i = 0; i < circle.size(); ++i) {
      ASSERT_EQ(waiting.at(circle[i]).holder, circle[(i + 1) % circle.size()]);
    }
  }
}

TEST(find_deadlock_gdb, output_is_read_with_and_without_symbols_of_the_c_library) {
  const std::string text = R"([New LWP 21]
Thread 3 (Thread 0x7f1 (LWP 21) "a thread"):
#5  0x0000560912 in std::mutex::lock (this=0x560912879140 <tea>) at /usr/include/c++/12/bits/std_mutex.h:100
$1 = 20

Thread 3 (Thread 0x7f1 (LWP 21) "a thread"):
#0  0x00007fd2a64 in ?? () from /lib/x86_64-linux-gnu/libc.so.6
#5  0x0000560912 in std::mutex::lock (this=0x560912879140 <tea>) at /usr/include/c++/12/bits/std_mutex.h:100
#7  0x00005609128 in inner (store=...) at /a/folder/x.cpp:37
#8  0x00005609128 in outer (store=...) at /a/folder/x.cpp:50

Thread 1 (Thread 0x7f0 (LWP 20) "main"):
#0  0x00007fd2a64 in ?? () from /lib/x86_64-linux-gnu/libc.so.6
#8  0x00005609128 in main () at x.cpp:60
)";
  const auto waiting = waiting_threads(text, "x.cpp");
  ASSERT_EQ(waiting.size(), 1U);
  const Waiting& one = waiting.at(21);
  EXPECT_EQ(one.name, "a thread");
  EXPECT_EQ(one.mutex, "tea");
  EXPECT_EQ(one.holder, 20);
  EXPECT_EQ(one.place, "inner, x.cpp:37");
}

TEST(find_deadlock_gdb, mutex_has_its_address_where_it_has_no_name_and_never_the_name_of_another) {
  const auto waiting = waiting_threads(R"(Thread 5 (Thread 0x7f4 (LWP 24) "d"):
#5  0x0000560912 in std::mutex::lock (this=0x560912879140 <tea>) at /usr/include/c++/12/bits/std_mutex.h:100
$1 = 20

Thread 4 (Thread 0x7f3 (LWP 23) "c"):
#5  std::recursive_mutex::lock (this=0x5609) at /usr/include/c++/12/mutex:108
$2 = 20

Thread 3 (Thread 0x7f2 (LWP 22) "b"):
#5  std::mutex::lock (this=0x560912879188 <shop::rice+8>) at /usr/include/c++/12/bits/std_mutex.h:100
$3 = 20

Thread 2 (Thread 0x7f1 (LWP 21) "a"):
#5  0x0000560912 in another::wait (this=0x560912879140 <salt>) at x.cpp:7
$4 = 20
)",
                                       "x.cpp");
  const auto mutex_of = [&](int thread) { return waiting.contains(thread) ? waiting.at(thread).mutex : "no entry"; };
  EXPECT_EQ(mutex_of(24), "tea");
  EXPECT_EQ(mutex_of(23), "0x5609");
  EXPECT_EQ(mutex_of(22), "shop::rice+8");
  EXPECT_EQ(mutex_of(21), "?");
}

std::string stores() { return beside(__FILE__, "../../chapters/09_diagnosis/find_deadlock/find_deadlock_stores.cpp"); }

TEST(find_deadlock, names_the_circle_those_that_wait_for_it_and_the_line) {
  const test_support::TemporaryDirectory folder;
  const auto result = run("find_deadlock", {}, {.environment = {{"TMPDIR", folder.path.string()}}, .limit = 150s});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path)) << "it has left files";
  for (const std::string row : {"north    rice       east ", "east     salt       south ", "south    tea        north ",
                                "clerk    rice       east ", "auditor  tea        north "}) {
    EXPECT_EQ(result.lines_with("^" + row).size(), 1U) << row << "\n" << result.text();
  }
  EXPECT_TRUE(result.lines_with("^clock").empty()) << "it waits for no mutex";
  EXPECT_TRUE(result.has_line("ok    wait in a circle: [\"north\", \"east\", \"south\"]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    outside of it: [\"clerk\", \"auditor\"]")) << result.text();

  const auto source = lines_of(test_support::text_of(stores()));
  ASSERT_FALSE(source.empty());
  const auto lines = result.captures("find_deadlock_stores\\.cpp:(\\d+)");
  ASSERT_EQ(lines.size(), 5U) << result.text();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string expected = i >= 3 ? "std::scoped_lock lock(store.mutex);" : "second(to.mutex);";
    EXPECT_NE(source.at(std::stoi(lines[i]) - 1).find(expected), std::string::npos) << lines[i];
  }
}

TEST(find_deadlock, skips_itself_without_gdb) {
  const auto skipped = run("find_deadlock", {}, {.environment = {{"PATH", "/nonexistent"}}});
  EXPECT_EQ(skipped.exit_code, 77) << skipped.text();
  EXPECT_TRUE(skipped.has_line("skipped: gdb is missing; install gdb")) << skipped.text();
}

TEST(find_deadlock_join, the_debugger_tells_which_thread_join_waits_for) {
  if (run_tool({"gdb", "--version"}).exit_code != 0) GTEST_SKIP() << "install gdb";
  const auto let_attach = [] { prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); };
  const test_support::TemporaryDirectory folder;
  const std::string source = beside(__FILE__, "../../chapters/09_diagnosis/find_deadlock/find_deadlock_join.cpp");
  const std::string program = folder.path / "program";
  const auto compiled = run_tool({"g++", "-std=c++20", "-O2", "-g", source, "-pthread", "-o", program});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.text;
  cookbook::ChildProgram hung({program}, cookbook::ChildProcess::Output::piped, let_attach);
  hung.read_until("the worker is to stop");
  test_support::with_watchdog([&] { test_support::wait_until_asleep(hung.pid()); });
  const std::string text =
      run_tool({"env", "DEBUGINFOD_URLS=", "gdb", "--nx", "--batch", "-p", std::to_string(hung.pid()), "-ex",
                "set width 0", "-ex", "tfaas print/x thread_", "-ex", "thread apply all backtrace"})
          .text;
  if (text.find("ptrace: ") != std::string::npos) GTEST_SKIP() << "gdb may not attach to another process here";
  std::smatch waited_for, worker;
  ASSERT_TRUE(std::regex_search(
      text, waited_for, std::regex("Worker::stop .*\\n\\$\\d+ = \\{_M_id = \\{_M_thread = (0x[0-9a-f]+)\\}\\}")))
      << text;
  ASSERT_TRUE(std::regex_search(text, worker, std::regex("Thread 2 \\(Thread (0x[0-9a-f]+) "))) << text;
  EXPECT_EQ(waited_for[1], worker[1]) << text;
}

TEST(find_deadlock, thread_sanitizer_reports_the_circle_in_a_run_that_ends) {
  const test_support::TemporaryDirectory folder;
  const std::string program = folder.path / "program";
  const auto compiled = run_tool({"g++", "-std=c++20", "-g", "-fsanitize=thread", stores(), "-pthread", "-o", program});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.text;
  const std::string report = run_tool({"env", "TSAN_OPTIONS=exitcode=0", "setarch", "-R", program, "in-turns"}).text;
  std::smatch circle;
  ASSERT_TRUE(std::regex_search(report, circle, std::regex("graph: (M\\d+) .*=> (M\\d+) .*=> (M\\d+) .*=> (M\\d+)\n")))
      << report;
  EXPECT_EQ(circle[1], circle[4]);
  for (int i = 1; i <= 3; ++i) {
    std::smatch arrow;
    EXPECT_TRUE(std::regex_search(
        report, arrow,
        std::regex(fmt::format("Mutex {} acquired here while holding mutex {} in thread T{}:\n(?:    #.*\n)*?"
                               "    #.* move_goods.*find_deadlock_stores.cpp:(\\d+) ",
                               circle.str(i + 1), circle.str(i), i))))
        << i << "\n"
        << report;
    if (!arrow.empty()) {
      EXPECT_NE(lines_of(test_support::text_of(stores())).at(std::stoi(arrow[1]) - 1).find("second(to.mutex);"),
                std::string::npos);
    }
  }
}

TEST(find_deadlock, in_turns_it_ends_however_long_a_thread_waits_for_its_second_mutex) {
  const test_support::TemporaryDirectory folder;
  std::string text = test_support::text_of(stores());
  const std::size_t second = text.find("  std::scoped_lock second(");
  ASSERT_NE(second, std::string::npos);
  text.insert(second, "std::this_thread::sleep_for(std::chrono::milliseconds(300));");
  const std::string source = folder.path / "slow.cpp", program = folder.path / "slow";
  std::ofstream(source) << text;
  const auto compiled = run_tool({"g++", "-std=c++20", source, "-pthread", "-o", program});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.text;
  EXPECT_EQ(run_tool({"timeout", "20", program, "in-turns"}).exit_code, 0);
}

/// What ThreadSanitizer says of two threads that run one after the other; each statement is one thread's.
std::string report_about(const std::string& first, const std::string& second) {
  const test_support::TemporaryDirectory folder;
  const std::string source = folder.path / "orders.cpp", program = folder.path / "orders";
  std::ofstream(source) << "#include <mutex>\n#include <thread>\nstd::mutex gate, one, two;\nint main() {\n"
                        << "  std::jthread([] { " << first << " }).join();\n  std::jthread([] { " << second
                        << " }).join();\n}\n";
  const auto compiled = run_tool({"g++", "-std=c++20", "-g", "-fsanitize=thread", source, "-o", program});
  EXPECT_EQ(compiled.exit_code, 0) << compiled.text;
  return run_tool({"env", "TSAN_OPTIONS=exitcode=0", "setarch", "-R", program}).text;
}

TEST(find_deadlock, what_the_page_says_of_lock_orders_is_true) {
  EXPECT_NE(report_about("std::scoped_lock a(gate); std::scoped_lock b(one); std::scoped_lock c(two);",
                         "std::scoped_lock a(gate); std::scoped_lock b(two); std::scoped_lock c(one);")
                .find("lock-order-inversion"),
            std::string::npos)
      << "a false alarm: with the gate nobody can deadlock";
  EXPECT_EQ(report_about("std::scoped_lock both(one, two);", "std::scoped_lock both(two, one);"), "");
}

}  // namespace
