// The reports of the faulty programs, the search for the first call that differs, and the watch as a library that is
// loaded before a program which knows nothing of it.

#include "09_diagnosis/debug_mpi/call_watch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using call_watch::call;
using call_watch::Kind;
using call_watch::Slot;
using test_support::Process;
using test_support::run;

/// Expects that a program prints this report, the five lines below "no rank has moved". While the ranks are still
/// starting, on a busy machine, there may be earlier ones.
void expect_report(Process& process, const std::vector<std::string>& expected) {
  std::vector<std::string> lines;
  while (lines != expected) {
    if (process.read_until("no rank has moved for 300 ms").empty()) break;  // and a failure
    lines.clear();
    while (lines.size() < 5) lines.push_back(process.read_line());
  }
  EXPECT_EQ(lines, expected);
}

TEST(debug_mpi, the_program_prints_where_each_rank_is_and_where_they_differ) {
  const auto result = run("debug_mpi");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.leaked_processes, 0) << result.text();
  EXPECT_THAT(result.out,
              testing::ElementsAre("rank 2 receives with another tag", "  no rank has moved for 300 ms",
                                   "  rank 0  MPI_Barrier", "  rank 1  MPI_Barrier", "  rank 2  MPI_Recv from 1, tag 8",
                                   "  rank 3  MPI_Barrier", "  the collective calls are the same so far",
                                   "rank 3 skips a collective call", "  no rank has moved for 300 ms",
                                   "  rank 0  MPI_Allreduce", "  rank 1  MPI_Allreduce", "  rank 2  MPI_Allreduce",
                                   "  rank 3  MPI_Barrier",
                                   "  collective call 2 differs: MPI_Allreduce by 0, 1, 2; MPI_Barrier by 3",
                                   "ok    reports that name the fault: 2"));
}

TEST(debug_mpi, ranks_that_name_different_roots_end_with_a_wrong_number_and_are_told_so_at_the_end) {
  const auto result = run("debug_mpi", {"--fault", "root"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_THAT(
      result.out,  // on a busy machine, reports of the ranks that start may come before
      testing::IsSupersetOf({"rank 0 has 42", "rank 1 has 42", "rank 2 has 42", "rank 3 has 0",
                             "collective call 1 differs: MPI_Bcast, root 0 by 0, 1, 2; MPI_Bcast, root 3 by 3"}))
      << result.text();
}

TEST(debug_mpi, of_several_reports_the_last_one_counts_before_a_silence_that_is_short) {
  const test_support::TemporaryDirectory folder;
  const auto mpirun = folder.path / "mpirun";  // instead of Open MPI's
  std::ofstream(mpirun) << R"(#!/bin/sh
report() {
  printf '%s\n' 'no rank has moved for 300 ms' 0 1 "$1" 3 "$2"
}
report 'too early' 'too early'
report 'rank 2  MPI_Recv from 1, tag 8' 'collective call 2 differs: MPI_Allreduce by 0, 1, 2; MPI_Barrier by 3'
trap 'kill $!; exit' TERM
sleep 4 & wait $!
report 'too late' 'too late'
sleep 20 & wait $!
)";
  std::filesystem::permissions(mpirun, std::filesystem::perms::owner_all);
  const auto result = run("debug_mpi", {}, {.environment = {{"PATH", folder.path.string() + ":/usr/bin:/bin"}}});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("too early|too late").size(), 0U) << result.text();
}

TEST(debug_mpi, a_rank_that_works_is_in_no_call) {
  Process process("debug_mpi", {"--fault", "compute"});
  expect_report(process, {"rank 0  MPI_Barrier", "rank 1  in no call", "rank 2  MPI_Barrier", "rank 3  MPI_Barrier",
                          "the collective calls are the same so far"});
  EXPECT_EQ(process.stop(SIGTERM).leaked_processes, 0);
}

TEST(debug_mpi, a_hanging_program_is_reported_once_and_goes_on_hanging) {
  Process process("debug_mpi", {"--fault", "skip"});
  expect_report(process,
                {"rank 0  MPI_Allreduce", "rank 1  MPI_Allreduce", "rank 2  MPI_Allreduce", "rank 3  MPI_Barrier",
                 "collective call 2 differs: MPI_Allreduce by 0, 1, 2; MPI_Barrier by 3"});
  const std::size_t lines = process.lines().size();
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));  // enough for three more reports
  const auto result = process.stop(SIGTERM);
  EXPECT_EQ(result.out.size(), lines) << result.text();
}

TEST(debug_mpi_own_decision, the_report_names_the_rank_that_has_left_the_loop) {
  Process process("debug_mpi_own_decision");
  expect_report(
      process, {"rank 0  MPI_Allreduce", "rank 1  MPI_Allreduce", "rank 2  MPI_Gather, root 0", "rank 3  MPI_Allreduce",
                "collective call 5 differs: MPI_Allreduce by 0, 1, 3; MPI_Gather, root 0 by 2"});
  process.stop(SIGTERM);
}

TEST(debug_mpi, the_environment_says_how_long_nobody_must_have_moved) {
  Process process("debug_mpi_own_decision", {}, {.environment = {{"CALL_WATCH_MS", "900"}}});
  EXPECT_FALSE(process.read_until("no rank has moved for 900 ms").empty());
  const auto result = process.stop(SIGTERM);
  EXPECT_EQ(result.lines_with("for 300 ms").size(), 0U) << result.text();
}

TEST(debug_mpi, ranks_that_share_no_memory_are_told_so) {
  // A test for one host: without this component Open MPI has no window of shared memory.
  const auto result = run("debug_mpi_own_decision", {}, {.environment = {{"OMPI_MCA_osc", "^sm"}}});
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_THAT(result.err, testing::Contains(testing::HasSubstr("call_watch: the ranks share no memory")));
}

/// What ranks have noted that have made these collective calls.
class Ranks {
 public:
  explicit Ranks(const std::vector<std::vector<call_watch::Call>>& calls_of_ranks) {
    for (const auto& calls : calls_of_ranks) {
      call_watch::mine = &slots_.emplace_back();
      for (const call_watch::Call& call : calls) call_watch::Inside(call, MPI_COMM_WORLD);
    }
    call_watch::mine = nullptr;
    for (Slot& slot : slots_) pointers_.push_back(&slot);
  }
  std::string first_mismatch() const { return call_watch::first_mismatch(pointers_); }

 private:
  std::deque<Slot> slots_;
  std::vector<Slot*> pointers_;
};

const auto barrier = call(Kind::barrier), sum = call(Kind::allreduce);

TEST(debug_mpi_mismatch, ranks_that_made_the_same_calls_do_not_differ) {
  EXPECT_EQ(Ranks({{}, {}}).first_mismatch(), "");
  EXPECT_EQ(Ranks({{barrier, sum}, {barrier, sum}}).first_mismatch(), "");
  EXPECT_EQ(Ranks({{barrier, sum}, {barrier}}).first_mismatch(), "") << "the second rank is behind";
  EXPECT_EQ(Ranks({{barrier, sum}, {}, {barrier, sum}}).first_mismatch(), "") << "the second rank is behind";
}

TEST(debug_mpi_mismatch, the_first_call_that_differs_is_named_although_later_ones_are_the_same) {
  EXPECT_EQ(Ranks({{barrier, sum, barrier}, {barrier, barrier, barrier}, {barrier, sum}}).first_mismatch(),
            "collective call 2 differs: MPI_Allreduce by 0, 2; MPI_Barrier by 1");
}

TEST(debug_mpi_mismatch, ranks_that_have_come_far_enough_are_compared_though_another_one_has_not) {
  EXPECT_EQ(Ranks({{barrier, sum}, {}, {barrier, barrier}}).first_mismatch(),
            "collective call 2 differs: MPI_Allreduce by 0; MPI_Barrier by 2");
}

TEST(debug_mpi_mismatch, another_root_is_another_call) {
  EXPECT_EQ(Ranks({{call(Kind::broadcast, 0)}, {call(Kind::broadcast, 1)}}).first_mismatch(),
            "collective call 1 differs: MPI_Bcast, root 0 by 0; MPI_Bcast, root 1 by 1");
}

TEST(debug_mpi_mismatch, of_a_long_run_the_last_thousand_calls_are_compared) {
  std::vector<call_watch::Call> one(2500, sum), other = one;
  EXPECT_EQ(Ranks({one, other}).first_mismatch(), "");
  other[1499] = barrier;  // overwritten since by call 2500
  EXPECT_EQ(Ranks({one, other}).first_mismatch(), "");
  other[1500] = barrier;
  EXPECT_EQ(Ranks({one, other}).first_mismatch(), "collective call 1501 differs: MPI_Allreduce by 0; MPI_Barrier by 1");
}

TEST(debug_mpi_mismatch, a_receive_of_any_message_has_no_numbers) {
  EXPECT_EQ(call_watch::text_of(call(Kind::receive, MPI_ANY_SOURCE, MPI_ANY_TAG)), "MPI_Recv from any, tag any");
  EXPECT_EQ(call_watch::text_of(call(Kind::receive, 3, MPI_ANY_TAG)), "MPI_Recv from 3, tag any");
}

TEST(debug_mpi_mismatch, calls_on_other_communicators_are_left_out_and_calls_before_the_begin_ignored) {
  Slot slot;
  { const call_watch::Inside before_the_begin(barrier, MPI_COMM_WORLD); }
  call_watch::mine = &slot;
  {
    const call_watch::Inside inside(barrier, MPI_COMM_SELF);
    EXPECT_EQ(call_watch::text_of(slot.now), "MPI_Barrier");
  }
  call_watch::mine = nullptr;
  EXPECT_EQ(slot.collectives, 0);
  EXPECT_EQ(slot.moves, 2);
  EXPECT_EQ(call_watch::text_of(slot.now), "in no call");
}

/// What this process prints on standard output, from now until the end of this object.
class OwnOutput {
 public:
  OwnOutput() : output_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0);
    EXPECT_EQ(dup2(ends_[1], STDOUT_FILENO), STDOUT_FILENO);
  }
  ~OwnOutput() {
    dup2(output_, STDOUT_FILENO);
    for (const int descriptor : {output_, ends_[0], ends_[1]}) close(descriptor);
  }
  OwnOutput(const OwnOutput&) = delete;
  OwnOutput& operator=(const OwnOutput&) = delete;

  /// Waits until this has been printed, and returns all that has come up to it since the last call.
  std::string read_until(const std::string& end) const {
    std::string text;
    for (char one = 0; !text.ends_with(end) && read(ends_[0], &one, 1) == 1;) text += one;
    return text;
  }

 private:
  int output_;
  int ends_[2] = {};
};

TEST(debug_mpi_watch, there_is_another_report_when_nobody_moves_any_more_after_a_move_of_one_rank) {
  Slot first, second;
  call_watch::slots = {&first, &second};
  std::vector<std::string> reports;
  {
    const OwnOutput output;
    test_support::with_watchdog([&] {
      const std::jthread watcher(
          [](const std::stop_token& stop) { call_watch::watch(stop, std::chrono::milliseconds(40)); });
      reports.push_back(output.read_until("so far\n"));
      for (Slot* slot : {&first, &second}) {  // each alone
        call_watch::mine = slot;
        {
          const auto moved = std::chrono::steady_clock::now();
          const call_watch::Inside inside(call(Kind::send, 7, 8));
          reports.push_back(output.read_until("so far\n"));
          EXPECT_GE(std::chrono::steady_clock::now() - moved, std::chrono::milliseconds(40)) << "too early";
        }
        reports.push_back(output.read_until("so far\n"));
        call_watch::mine = nullptr;
      }
    });
  }
  call_watch::slots.clear();
  const auto report = [](const std::string& rank_0, const std::string& rank_1) {
    return "no rank has moved for 40 ms\nrank 0  " + rank_0 + "\nrank 1  " + rank_1 +
           "\nthe collective calls are the same so far\n";
  };
  const std::string none = "in no call", send = "MPI_Send to 7, tag 8";
  EXPECT_THAT(reports, testing::ElementsAre(report(none, none), report(send, none), report(none, none),
                                            report(none, send), report(none, none)));
}

TEST(debug_mpi, as_a_library_it_watches_a_program_that_knows_nothing_of_it) {
  const test_support::TemporaryDirectory folder;
  const std::string path = folder.path.string();
  // The name of this file, if it is a relative one, is so from the build folder.
  const auto root = (std::filesystem::path(test_support::bin()).parent_path() / __FILE__ / "../../..").string();
  std::ofstream(path + "/waits.c")
      << "#include <mpi.h>\n"
         "int main(void) {\n"
         "  static int large[1000000];\n"  // so large that MPI_Send waits for the receiver
         "  int rank, n = 0;\n"
         "  MPI_Init(0, 0);\n"
         "  MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
         "  MPI_Query_thread(&n);\n"  // the watch adds a thread
         "  if (n < MPI_THREAD_FUNNELED) return 1;\n"
         "  if (rank == 0) MPI_Recv(&n, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
         "  if (rank == 1) MPI_Gather(&n, 1, MPI_INT, large, 1, MPI_INT, 1, MPI_COMM_WORLD);\n"
         "  if (rank == 2) MPI_Send(large, 1000000, MPI_INT, 0, 6, MPI_COMM_WORLD);\n"
         "  if (rank == 3) MPI_Reduce(large, &n, 1, MPI_INT, MPI_SUM, 3, MPI_COMM_WORLD);\n"
         "  MPI_Barrier(MPI_COMM_WORLD);\n"
         "  return MPI_Finalize();\n"
         "}\n";
  const std::string program = "mpicc -o '" + path + "/waits' '" + path + "/waits.c'",
                    library =
                        "mpicxx -std=c++20 -shared -fPIC -Icommon -x c++ "
                        "chapters/09_diagnosis/debug_mpi/call_watch.hpp common/cookbook/print.cpp -lfmt -o '" +
                        path + "/libcall_watch.so'";
  const auto made =
      run("/bin/sh",
          {"-c", "cd '" + std::filesystem::weakly_canonical(root).string() + "' && " + program + " && " + library},
          {.limit = std::chrono::seconds(100)});
  ASSERT_EQ(made.exit_code, 0) << made.text();
  Process process("/usr/bin/mpirun", {"--quiet", "--allow-run-as-root", "--oversubscribe", "-n", "4", "-x",
                                      "LD_PRELOAD=" + path + "/libcall_watch.so", path + "/waits"});
  expect_report(process, {"rank 0  MPI_Recv from 1, tag 5", "rank 1  MPI_Gather, root 1",
                          "rank 2  MPI_Send to 0, tag 6", "rank 3  MPI_Reduce, root 3",
                          "collective call 1 differs: MPI_Gather, root 1 by 1; MPI_Reduce, root 3 by 3"});
  process.stop(SIGTERM);
}

}  // namespace
