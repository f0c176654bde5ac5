// The program's output, its check and the barrier from inside.

#include "03_processes/process_synchronisation/barrier.hpp"

#include <atomic>

namespace {

/// The barrier, of which one process may say in one phase that the others have not come in time, though they have.
class BarrierWithLiar : public Barrier {
 public:
  explicit BarrierWithLiar(int parties) : Barrier(parties) {}

  bool wait_for(std::chrono::milliseconds limit) {
    static const int number = processes_++;  // of this process, in the order in which they come
    static int phase = 0;
    const bool all_here = Barrier::wait_for(limit);
    return ++phase == false_phase && number == liar ? !all_here : all_here;
  }

  static inline int liar = -1, false_phase = 2;

 private:
  std::atomic<int> processes_ = 0;
};

}  // namespace

#define Barrier BarrierWithLiar
#define main main_of_the_program  // its functions are tested from inside, too
#include "03_processes/process_synchronisation/process_synchronisation.cpp"
#undef main
#undef Barrier

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/process.hpp"
#include "shared_memory.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::Result;
using test_support::run;
using test_support::wait_until_asleep;

/// The four times of a process: phase 1 ended, gone on, phase 2 ended, gone on. In ms.
std::vector<double> times_of(const Result& result, const std::string& process) {
  const std::string time = " +(\\d+\\.\\d) ms";
  std::vector<double> times;
  for (std::string before; times.size() < 4; before += " +\\d+\\.\\d ms") {
    const auto found = result.captures(" " + process + before + time);
    if (found.size() != 1) break;
    times.push_back(std::stod(found[0]));
  }
  EXPECT_EQ(times.size(), 4U) << process << '\n' << result.text();
  times.resize(4);
  return times;
}

TEST(process_synchronisation, with_a_barrier_a_phase_ends_for_both_when_the_slower_one_has_come) {
  const auto result = run("process_synchronisation");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    with the barrier, neither went on before both had come: yes")) << result.text();
  const auto p1 = times_of(result, "p1"), p2 = times_of(result, "p2");
  for (const int phase : {0, 2}) {
    EXPECT_GE(std::min(p1[phase + 1], p2[phase + 1]), std::max(p1[phase], p2[phase])) << result.text();
  }
  // 10 ms and 40 ms of work in the one order and in the other; a phase begins when both have ended the one before.
  EXPECT_GE(p1[0], 10);
  EXPECT_GE(p2[0], 40);
  EXPECT_GE(p1[2], p1[1] + 39.9) << result.text();
  EXPECT_GE(p2[2], p2[1] + 9.9);
  EXPECT_GE(std::min(p1[3], p2[3]), 80) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  EXPECT_TRUE(result.err.empty()) << result.text();
}

TEST(process_synchronisation, without_a_barrier_nobody_waits) {
  for (int attempt = 0; attempt < 50; ++attempt) {  // on a busy machine any process may be late
    const auto result = run("process_synchronisation");
    const auto p3 = times_of(result, "p3"), p4 = times_of(result, "p4");
    EXPECT_GE(p3[0], 10);
    EXPECT_GE(p4[0], 40);
    if (p3[1] < p4[0] && p4[0] > 40 && std::max(p3[3], p4[3]) < 80) return;
  }
  FAIL() << "p3 went on no earlier than p4 had come, in 50 runs";
}

TEST(process_synchronisation, the_phases_of_the_one_take_one_unit_and_four_those_of_the_other_four_and_one) {
  constexpr auto unit = 40ms;
  const int units[2][2] = {{1, 4}, {4, 1}};
  for (int attempt = 0; attempt < 10; ++attempt) {  // on a busy machine they may take longer
    const Shared<Board> board;
    bool punctual = true;
    for (const int self : {0, 1}) {
      Clock::time_point begin = Clock::now();
      EXPECT_EQ(work_in_phases(*board, self, unit, false), 0);
      for (const int phase : {0, 1}) {
        const auto time = board->phases[self][phase].came - begin;
        EXPECT_GE(time, units[self][phase] * unit);
        punctual = punctual && time < units[self][phase] * unit + unit / 2;
        begin = board->phases[self][phase].went_on;
      }
    }
    if (punctual) return;
  }
  FAIL() << "a phase took half a unit more, in each of ten runs";
}

TEST(process_synchronisation, its_check_sees_a_process_that_goes_on_before_the_other_has_come) {
  for (int attempt = 0; attempt < 5; ++attempt) {  // on a busy machine both may be late
    if (!show("without a barrier", {"p3", "p4"}, 50ms, false)) return;
  }
  FAIL() << "none was seen to go on too early, in five runs";
}

TEST(process_synchronisation, its_check_looks_at_both_phases_and_at_both_processes) {
  const Clock::time_point start;
  for (int early = -1; early < 4; ++early) {  // nobody, or one process in one phase
    const Shared<Board> board;
    for (int self : {0, 1}) {
      for (int phase : {0, 1}) {
        const Clock::time_point all_here = start + (phase + 1) * 10ms;
        const bool is_early = early == 2 * self + phase;
        board->phases[self][phase] = {1, is_early ? all_here - 2ms : all_here, all_here - is_early * 1ms};
      }
    }
    EXPECT_EQ(both_waited(*board), early == -1) << early;
  }
}

TEST(process_synchronisation, its_check_asks_each_process_whether_it_has_waited_in_vain) {
  for (const int liar : {-1, 0, 1}) {
    BarrierWithLiar::liar = liar;
    EXPECT_EQ(show("with a barrier", {"p1", "p2"}, 20ms, true), liar == -1) << liar;
  }
  BarrierWithLiar::liar = -1;
}

TEST(process_synchronisation, a_process_that_has_waited_in_vain_begins_no_further_phase) {
  const Shared<Board> board;
  BarrierWithLiar::liar = 0, BarrierWithLiar::false_phase = 1;
  const pid_t child = cookbook::start_child([&] { return work_in_phases(*board, 0, 1ms, true); });
  BarrierWithLiar::liar = -1, BarrierWithLiar::false_phase = 2;
  EXPECT_TRUE(static_cast<Barrier&>(board->barrier).wait_for(10s));
  EXPECT_EQ(cookbook::exit_code_of(child), 1);
  EXPECT_NE(board->phases[0][0].went_on, Clock::time_point{});
  EXPECT_EQ(board->phases[0][1].came, Clock::time_point{});
}

TEST(process_synchronisation, any_length_of_a_phase_will_do) {
  for (const std::string unit : {"0", "1"}) {
    const auto result = run("process_synchronisation", {"--unit-ms", unit});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

TEST(process_synchronisation_barrier, a_barrier_alone_times_out_and_can_be_used_afterwards) {
  const Shared<Barrier> barrier(2);
  EXPECT_FALSE(barrier->wait_for(1ms));
  EXPECT_FALSE(barrier->wait_for(1ms));  // the one who has given up does not count
  const pid_t child = cookbook::start_child([&] { return barrier->wait_for(10s) ? 0 : 1; });
  EXPECT_TRUE(barrier->wait_for(10s));
  EXPECT_EQ(cookbook::exit_code_of(child), 0);
}

TEST(process_synchronisation_barrier, nobody_begins_a_phase_before_all_have_ended_the_last_one) {
  constexpr int parties = 3, phases = 500;
  struct Notes {
    Barrier barrier{parties};
    std::atomic<int> ended[parties] = {};
  };
  const Shared<Notes> board;
  std::vector<pid_t> children;
  for (int self = 0; self < parties; ++self) {
    children.push_back(cookbook::start_child([&] {
      for (int phase = 1; phase <= phases; ++phase) {
        board->ended[self] = phase;
        if (!board->barrier.wait_for(10s)) return 1;
        for (const std::atomic<int>& other : board->ended) {
          if (other < phase) return 2;
        }
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(cookbook::exit_code_of(child), 0);
}

TEST(process_synchronisation, ctrl_c_and_a_kill_leave_nothing_behind) {
  for (const test_support::RunOptions& setting :
       {test_support::RunOptions{.interrupt_after_ms = 100}, test_support::RunOptions{.kill_after_ms = 100}}) {
    const auto result = run("process_synchronisation", {"--unit-ms", "1000"}, setting);
    EXPECT_EQ(result.exit_code, setting.kill_after_ms > 0 ? -9 : -2) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

}  // namespace
