// Process synchronisation: the program seen from outside. Catalogue: 3.C3, 3.10.

#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::Result;
using test_support::run;

/// The time of day that a process has printed, in milliseconds.
double stamp(const Result& result, const std::string& name) {
  for (const std::string& line : result.out) {
    int hours = 0, minutes = 0;
    double seconds = -1;
    const std::string start = "process " + name + " ----> ";
    if (line.starts_with(start) &&
        std::sscanf(line.c_str() + start.size(), "%*d-%*d-%*d %d:%d:%lf", &hours, &minutes, &seconds) == 3) {
      return ((hours * 60 + minutes) * 60 + seconds) * 1000;
    }
  }
  ADD_FAILURE() << "no line of " << name << '\n' << result.text();
  return 0;
}

TEST(process_synchronisation, each_process_prints_one_line_and_who_is_late_holds_the_other_at_the_barrier) {
  const auto result = run("process_synchronisation", {"--late-ms", "300", "--rounds", "10"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_THAT(result.captures("^process (p\\d - test_with(?:out)?_barrier) ----> \\d{4}-\\d\\d-\\d\\d "
                              "\\d\\d:\\d\\d:\\d\\d\\.\\d{6}$"),
              testing::UnorderedElementsAre("p1 - test_with_barrier", "p2 - test_with_barrier",
                                            "p3 - test_without_barrier", "p4 - test_without_barrier"));
  // p2's 300 ms begin when p3 and p4 have printed. The clock on the wall may be put right meanwhile, or pass midnight.
  constexpr double day = 24 * 60 * 60 * 1000;
  for (const std::string held : {"p1 - test_with_barrier", "p2 - test_with_barrier"}) {
    for (const std::string free : {"p3 - test_without_barrier", "p4 - test_without_barrier"}) {
      const double later = stamp(result, held) - stamp(result, free);
      EXPECT_GE(later < 0 ? later + day : later, 290) << held << ", " << free << '\n' << result.text();
    }
  }
  EXPECT_TRUE(result.has_line("ok    p1 was held until p2 came, all the time that p2 was late: yes"));
  EXPECT_TRUE(result.has_line("ok    p3 and p4 waited for nobody: yes"));
}

TEST(process_synchronisation, the_barrier_serves_any_number_of_phases) {
  for (const std::string phases : {"1", "1000"}) {
    const auto result = run("process_synchronisation", {"--phases", phases, "--late-ms", "0", "--rounds", "10"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    phases in which p1 or p2 went on before both had come: 0")) << result.text();
    EXPECT_EQ(result.lines_with("^process p").size(), 4U);
  }
}

TEST(process_synchronisation, a_wait_in_vain_ends) {
  const auto result = run("process_synchronisation", {"--rounds", "10"});
  EXPECT_TRUE(
      result.has_line("ok    a barrier for two, for one alone, one later, two after a reset: "
                      "[\"timed out\", \"broken\", \"all here\", \"all here\"]"))
      << result.text();
}

TEST(process_synchronisation, the_primitives_hold_and_one_is_told_of_a_death_whatever_the_number_of_processes) {
  for (const int processes : {1, 3, 32}) {
    const std::string count = std::to_string(processes);
    const auto result =
        run("process_synchronisation", {"--processes", count, "--rounds", "200", "--late-ms", "0", "--phases", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    std::string turns;
    for (int i = 0; i < processes; ++i) turns += (i > 0 ? ", " : "") + std::to_string(i);
    for (const std::string line :
         {"killed half-way through a transfer, with the lock: its exit code: -9", "others that failed: 0",
          "others that were told, and repaired: 1", "lock: changes that were lost: 0",
          "event: waiting for it once it is cleared: false", "semaphore: never more than 2 inside: yes",
          "semaphore: permits left: 2", "recursive lock: others that get it at depth 2, 1, 0: [0, 0, 1]",
          "barrier: processes found a phase behind: 0"}) {
      EXPECT_TRUE(result.has_line("ok    " + line)) << line << '\n' << result.text();
    }
    EXPECT_TRUE(result.has_line("ok    others that got the lock: " + count)) << result.text();
    EXPECT_TRUE(result.has_line("ok    event: gone on before it is set, and after: [0, " + count + "]"));
    EXPECT_TRUE(result.has_line("ok    condition: order of the turns: [" + turns + "]")) << result.text();
    EXPECT_TRUE(result.has_line("ok    both accounts, the dead one's transfer included: [" +
                                std::to_string(60 - processes) + ", " + std::to_string(40 + processes) + "]"));
    EXPECT_EQ(result.left_behind, 0);
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(process_synchronisation, the_other_mistakes_wait_for_ever_too) {
  const std::map<std::string, std::vector<std::string>> printed = {
      {"waiter", {"a child was killed: -9", "a living one was woken: 0"}},
      {"latch", {"the latch is open: yes"}},
  };
  for (const auto& [mistake, lines] : printed) {
    Result result;
    for (const auto limit : {500ms, 5000ms, 25000ms}) {
      result = run("process_synchronisation_stuck", {"--mistake", mistake}, {.limit = limit});
      if (result.timed_out && result.out == lines) break;
      // On a machine that is very busy it may not have come far, or the child was killed before it waited.
    }
    EXPECT_TRUE(result.timed_out) << mistake << '\n' << result.text();
    EXPECT_EQ(result.out, lines) << mistake << '\n' << result.text();
  }
}

TEST(process_synchronisation, ctrl_c_and_a_kill_leave_nothing_behind) {
  for (const test_support::Setting& setting :
       {test_support::Setting{.interrupt_after_ms = 150}, test_support::Setting{.kill_after_ms = 150}}) {
    const auto result = run("process_synchronisation", {"--late-ms", "5000"}, setting);
    EXPECT_EQ(result.exit_code, setting.kill_after_ms > 0 ? -9 : -2) << result.text();
    EXPECT_EQ(result.left_behind, 0);
  }
}

}  // namespace
