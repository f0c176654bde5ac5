// The program's output, and both ways to start a child from inside.

#include "03_processes/spawn_process/start_two_ways.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <utility>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"
#include "support/files.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using test_support::run;

std::string child_program() { return test_support::bin() + "/spawn_process_child"; }

/// The milliseconds of the rows "child 0", "child 1" and so on, and of the rows of all children.
struct Span {
  double started, joined;
};
struct Loop {
  std::vector<Span> children;
  double expected, by_fork, by_spawn, computing;
};

/// Of the loop with the join inside it, and of the one with the join after it.
std::pair<Loop, Loop> loops_of(const test_support::Result& result) {
  const std::string ms = "([\\d.]+) ms", span = " +" + ms + " to +" + ms;
  const std::regex child("child (\\d), +(\\d+) ms of work" + span + span), all("all, by (\\w+) +" + ms + " +" + ms);
  const std::regex expected("expected: the sum, the longest +" + ms + " +" + ms);
  const std::regex computing("all, by fork, computing +" + ms + " +" + ms);
  Loop inside{}, after{};
  for (const std::string& line : result.out) {
    std::smatch match;
    if (std::regex_match(line, match, child)) {
      EXPECT_EQ(std::stoul(match[1]), inside.children.size()) << result.text();
      EXPECT_EQ(std::stoul(match[2]), 30 - 3 * inside.children.size()) << result.text();
      inside.children.push_back({std::stod(match[3]), std::stod(match[4])});
      after.children.push_back({std::stod(match[5]), std::stod(match[6])});
    } else if (std::regex_match(line, match, expected)) {
      inside.expected = std::stod(match[1]);
      after.expected = std::stod(match[2]);
    } else if (std::regex_match(line, match, computing)) {
      inside.computing = std::stod(match[1]);
      after.computing = std::stod(match[2]);
    } else if (std::regex_match(line, match, all)) {
      (match[1] == "fork" ? inside.by_fork : inside.by_spawn) = std::stod(match[2]);
      (match[1] == "fork" ? after.by_fork : after.by_spawn) = std::stod(match[3]);
    }
  }
  return {inside, after};
}

double last_join(const Loop& loop) {
  double last = 0;
  for (const Span& span : loop.children) last = std::max(last, span.joined);
  return last;
}

TEST(spawn_process, children_run_in_order_if_joined_inside_the_loop_and_together_if_joined_after_it) {
  for (int attempt = 0;; ++attempt) {
    const auto result = run("spawn_process");
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
    const auto [inside, after] = loops_of(result);
    ASSERT_EQ(inside.children.size(), 5U) << result.text();
    const double cores = cookbook::allowed_processors();
    bool together = after.by_fork < inside.by_fork && after.by_spawn < inside.by_spawn &&
                    (cores < 2 || after.computing < inside.computing);
    for (std::size_t i = 0; i < 5; ++i) {
      const double work = 30 - 3 * static_cast<double>(i), rounded = 0.11;
      EXPECT_GE(inside.children[i].joined, inside.children[i].started + work - rounded) << result.text();
      EXPECT_GE(after.children[i].joined, after.children[i].started + work - rounded) << result.text();
      if (i > 0) {
        EXPECT_GE(inside.children[i].started, inside.children[i - 1].joined) << result.text();
      }
      for (const Span& other : after.children) together = together && after.children[i].started < other.joined;
    }
    EXPECT_DOUBLE_EQ(inside.by_fork, last_join(inside)) << result.text();
    EXPECT_DOUBLE_EQ(after.by_fork, last_join(after)) << result.text();
    EXPECT_EQ(inside.expected, 30 + 27 + 24 + 21 + 18) << result.text();
    EXPECT_EQ(after.expected, 30) << result.text();
    EXPECT_GE(inside.by_spawn, inside.expected) << "one after the other";
    EXPECT_GE(after.by_spawn, after.expected);
    EXPECT_GE(inside.computing, inside.expected) << "one after the other";
    EXPECT_GE(after.computing, std::max(after.expected, inside.expected / cores) - 0.11) << "a core for each";
    for (const std::string line : {"children that failed: 0", "calls counted by the children that the parent sees: 0",
                                   "no child is left: yes"}) {
      EXPECT_TRUE(result.has_line("ok    " + line)) << result.text();
    }
    if (together) return;
    ASSERT_LT(attempt, 20) << "on a busy machine they may not overlap, but not in 20 runs\n" << result.text();
  }
}

TEST(spawn_process, a_child_that_works_for_a_shorter_time_can_overtake_if_all_are_joined_after_the_loop) {
  for (int attempt = 0; attempt < 20; ++attempt) {  // on a busy machine they may happen to end in order
    const auto [inside, after] = loops_of(run("spawn_process"));
    ASSERT_EQ(after.children.size(), 5U);
    if (after.children[4].joined < after.children[0].joined) return;
  }
  FAIL() << "the children ended in the order of their start in 20 runs";
}

TEST(spawn_process, one_child_and_ten) {
  for (const std::string count : {"1", "10"}) {
    const auto result = run("spawn_process", {"--children", count});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(loops_of(result).first.children.size(), std::stoul(count)) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

/// How many children the system lists for this process: those that run, and those that nobody has joined.
int children_now() {
  std::ifstream list("/proc/self/task/" + std::to_string(getpid()) + "/children");
  return static_cast<int>(std::distance(std::istream_iterator<pid_t>(list), {}));
}

TEST(spawn_process_children, five_are_five_processes_beside_their_parent_until_they_are_joined) {
  for (const auto& start : {std::function<pid_t(int)>(start_by_fork),
                            std::function<pid_t(int)>([](int n) { return start_by_spawn(child_program(), n); })}) {
    std::set<pid_t> ids;
    for (int number = 5; number < 10; ++number) ids.insert(start(number));
    EXPECT_EQ(ids.size(), 5U);
    EXPECT_FALSE(ids.contains(getpid()));
    EXPECT_EQ(children_now(), 5) << "no more were made, and none is gone before its join";
    for (const pid_t child : ids) EXPECT_EQ(cookbook::exit_code_of(child), 0);
    EXPECT_EQ(children_now(), 0);
  }
  EXPECT_EQ(calls, 0) << "the children called the function";
  const int before = calls;
  EXPECT_EQ(called_function(9), before + 1);
  EXPECT_EQ(std::exchange(calls, before), before + 1);
}

TEST(spawn_process_children, a_forked_one_copies_whether_it_computes_and_then_needs_a_core) {
  for (const bool computes : {false, true}) {
    computing = computes;
    rusage used{};
    int status = 0;
    check(wait4(start_by_fork(0), &status, 0, &used), "wait4");
    computing = false;
    EXPECT_EQ(status, 0);
    const long us =
        1'000'000 * (used.ru_utime.tv_sec + used.ru_stime.tv_sec) + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    EXPECT_EQ(us >= 29'000, computes) << us << " us";
  }
}

TEST(spawn_process_children, one_that_has_ended_is_a_zombie_until_its_join) {
  const pid_t child = start_by_fork(9);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);  // waits, and does not join
  EXPECT_EQ(test_support::state_of(child), 'Z');
  EXPECT_EQ(cookbook::exit_code_of(child), 0);
  EXPECT_EQ(test_support::state_of(child), 0);
}

TEST(spawn_process_children, a_forked_one_that_counts_more_than_its_own_call_ends_with_exit_code_1) {
  const int before = calls++;
  EXPECT_EQ(cookbook::exit_code_of(start_by_fork(9)), 1);
  calls = before;
}

TEST(spawn_process_children, a_forked_one_does_not_write_what_waits_in_its_parents_buffers) {
  const test_support::TemporaryDirectory folder;
  const std::filesystem::path path = folder.path / "text";
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("once", file);
  EXPECT_EQ(cookbook::exit_code_of(start_by_fork(9)), 0);
  std::fclose(file);
  EXPECT_EQ(test_support::text_of(path), "once");
}

int global = 41;

TEST(spawn_process_children, a_global_variable_is_copied_a_shared_one_and_a_message_reach_the_parent) {
  const Shared<int> shared(41);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = cookbook::start_child([&] {
    ++global;
    ++*shared;
    check(write(ends[1], &global, sizeof global), "write");
  });
  EXPECT_EQ(cookbook::exit_code_of(child), 0);
  int message = 0;
  EXPECT_EQ(read(ends[0], &message, sizeof message), static_cast<ssize_t>(sizeof message));
  EXPECT_EQ(global, 41);
  EXPECT_EQ(*shared, 42);
  EXPECT_EQ(message, 42);
  close(ends[0]);
  close(ends[1]);
}

struct WithExplicitConstructor {
  struct Member {
    explicit Member() = default;
    int value = 7;
  };
  Member member;
};

TEST(spawn_process_shared, may_have_members_whose_default_constructor_is_explicit) {
  const Shared<WithExplicitConstructor> shared;
  EXPECT_EQ(shared->member.value, 7);
}

TEST(spawn_process_child, takes_a_number_and_starts_nothing) {
  const auto result = run("spawn_process_child", {"--number=9"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.out.empty()) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  for (const std::string wrong : {"--number=", "--number=x", "--number=1x", "1", "--number=-1", "--number=10"}) {
    const auto refused = run("spawn_process_child", {wrong});
    EXPECT_EQ(refused.exit_code, 2) << refused.text();
    EXPECT_TRUE(refused.out.empty());
    EXPECT_EQ(refused.err.size(), 1U) << refused.text();
  }
}

TEST(spawn_process, without_its_child_program_it_says_so) {
  const test_support::TemporaryDirectory folder;
  const std::filesystem::path copy = folder.path / "spawn_process";
  std::filesystem::copy_file(test_support::bin() + "/spawn_process", copy);
  const auto result = run(copy);
  EXPECT_EQ(result.exit_code, 3) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::StartsWith("spawn_process: posix_spawn in line "));
  EXPECT_THAT(result.err[0], testing::EndsWith(": No such file or directory"));
}

TEST(spawn_process, children_that_fail_are_counted_by_both_loops) {
  const test_support::TemporaryDirectory folder;
  const std::filesystem::path copy = folder.path / "spawn_process", child = folder.path / "spawn_process_child";
  std::filesystem::copy_file(test_support::bin() + "/spawn_process", copy);
  std::filesystem::copy_file("/bin/false", child);
  const auto result = run(copy, {"--children", "3"});
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.has_line("FAIL  children that failed: 6, expected 0")) << result.text();
}

TEST(spawn_process_no_guard, each_child_starts_five_more) {
  const auto result = run("spawn_process_no_guard");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.lines_with("^a child of generation 1$").size(), 5U) << result.text();
  EXPECT_EQ(result.lines_with("^a child of generation 2$").size(), 25U) << result.text();
  EXPECT_EQ(result.out.back(), "30 children instead of 5");
  EXPECT_EQ(result.leaked_processes, 0);
}

}  // namespace
