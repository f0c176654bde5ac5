// The program's output, its check and the barrier from inside.

#include "03_processes/process_synchronisation/barrier.hpp"

#include <atomic>

namespace {

/// The barrier, of which one process may say that the other one has not come in time, though it has.
class BarrierWithLiar : public Barrier {
 public:
  explicit BarrierWithLiar(int parties) : Barrier(parties) {}

  bool wait_for(std::chrono::milliseconds limit) {
    const int number = processes_++;  // of this process, in the order in which they come
    return Barrier::wait_for(limit) != (number == liar);
  }

  static inline int liar = -1;

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

/// What the row of a process says: the end of its first phase, when it went on, what it found, the end of its second
/// phase. In ms and percent.
std::vector<double> row_of(const Result& result, const std::string& process) {
  std::vector<double> numbers;
  for (std::string before; numbers.size() < 4; before += " +[0-9.]+ (?:ms|%)") {
    const auto found = result.captures("^" + process + before + " +([0-9.]+) (?:ms|%)");
    if (found.size() != 1) break;
    numbers.push_back(std::stod(found[0]));
  }
  EXPECT_EQ(numbers.size(), 4U) << process << '\n' << result.text();
  numbers.resize(4);
  return numbers;
}

TEST(process_synchronisation, with_a_barrier_each_finds_the_results_of_the_other_one) {
  const auto result = run("process_synchronisation");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    with the barrier, each found all results of the other: yes")) << result.text();
  const auto a = row_of(result, "with a barrier +A"), b = row_of(result, "with a barrier +B");
  EXPECT_EQ(a[2], 100) << result.text();
  EXPECT_EQ(b[2], 100) << result.text();
  // A has 10 ms and 40 ms of work, B 40 ms and 10 ms. Each begins its second phase when both have ended the first.
  EXPECT_GE(a[0], 10);
  EXPECT_GE(b[0], 40);
  EXPECT_GE(std::min(a[1], b[1]), std::max(a[0], b[0])) << result.text();
  EXPECT_GE(a[3], a[1] + 39.8) << result.text();
  EXPECT_GE(b[3], b[1] + 9.8) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  EXPECT_TRUE(result.err.empty()) << result.text();
}

TEST(process_synchronisation, without_a_barrier_the_quick_one_goes_on_without_the_results) {
  for (int attempt = 0; attempt < 50; ++attempt) {  // on a busy machine any process may be late
    const auto result = run("process_synchronisation");
    const auto a = row_of(result, "without a barrier +A"), b = row_of(result, "without a barrier +B");
    EXPECT_GE(a[0], 10);
    EXPECT_GE(b[0], 40);
    if (a[1] < b[0] && a[2] < 100 && b[2] == 100 && std::max(a[3], b[3]) < 80) return;
  }
  FAIL() << "A went on no earlier than B had ended its first phase, in 50 runs";
}

TEST(process_synchronisation, the_phases_of_a_take_one_unit_and_four_those_of_b_four_and_one) {
  constexpr std::chrono::duration<double> unit = 40ms;
  const int expected[2][2] = {{1, 4}, {4, 1}};
  for (int attempt = 0; attempt < 10; ++attempt) {  // on a busy machine they may take longer
    bool punctual = true;
    for (const int self : {0, 1}) {
      const Shared<Board> board;
      EXPECT_EQ(work_in_phases(*board, self, 40ms, false), 0);
      const Notes& notes = board->notes[self];
      EXPECT_EQ(notes.results, 100);
      EXPECT_EQ(notes.found, 0) << "the other one has not begun";
      const double took[2] = {notes.ended, notes.done - notes.went_on};
      for (const int phase : {0, 1}) {
        const double least = expected[self][phase] * unit.count();
        EXPECT_GE(took[phase], 0.99 * least);
        punctual = punctual && took[phase] < least + unit.count() / 2;
      }
    }
    if (punctual) return;
  }
  FAIL() << "a phase took half a unit more, in each of ten runs";
}

TEST(process_synchronisation, its_check_sees_a_process_that_goes_on_before_the_other_has_its_results) {
  for (int attempt = 0; attempt < 5; ++attempt) {  // on a busy machine A may be late
    if (!show("without a barrier", 50ms, false)) return;
  }
  FAIL() << "none was seen to go on too early, in five runs";
}

TEST(process_synchronisation, its_check_looks_at_both_processes) {
  for (const int of_a : {0, 75, 100}) {
    for (const int of_b : {0, 75, 100}) {
      const Shared<Board> board;
      board->notes[0].found = of_a;
      board->notes[1].found = of_b;
      EXPECT_EQ(both_found_all(*board), of_a == 100 && of_b == 100) << of_a << ' ' << of_b;
    }
  }
}

TEST(process_synchronisation, its_check_asks_each_process_whether_it_has_waited_in_vain) {
  for (const int liar : {-1, 0, 1}) {
    BarrierWithLiar::liar = liar;
    EXPECT_EQ(show("with a barrier", 20ms, true), liar == -1) << liar;
  }
  BarrierWithLiar::liar = -1;
}

TEST(process_synchronisation, a_process_that_has_waited_in_vain_begins_no_further_phase) {
  const Shared<Board> board;
  BarrierWithLiar::liar = 0;
  const pid_t child = cookbook::start_child([&] { return work_in_phases(*board, 0, 1ms, true); });
  BarrierWithLiar::liar = -1;
  EXPECT_TRUE(static_cast<Barrier&>(board->barrier).wait_for(10s));
  EXPECT_EQ(cookbook::exit_code_of(child), 1);
  EXPECT_GT(board->notes[0].ended, 0);
  EXPECT_EQ(board->notes[0].went_on, 0);
  EXPECT_EQ(board->notes[0].done, 0);
}

TEST(process_synchronisation, any_length_of_a_phase_will_do) {
  for (const std::string unit : {"0", "1"}) {
    const auto result = run("process_synchronisation", {"--unit-ms", unit});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

TEST(process_synchronisation_barrier, whoever_waits_in_vain_breaks_it_for_all_others_at_once) {
  const Shared<Barrier> barrier(3);
  const pid_t child = cookbook::start_child([&] { return barrier->wait_for(1h) ? 1 : 0; });
  wait_until_asleep(child);
  EXPECT_FALSE(barrier->wait_for(1ms));
  EXPECT_EQ(cookbook::exit_code_of(child), 0);  // it does not wait for an hour
  EXPECT_FALSE(barrier->wait_for(1h));          // nor does one that comes later
}

TEST(process_synchronisation_barrier, a_broken_one_does_not_open_even_if_the_last_one_comes) {
  const Shared<Barrier> barrier(2);
  EXPECT_FALSE(barrier->wait_for(1ms));
  EXPECT_FALSE(barrier->wait_for(1ms));
}

TEST(process_synchronisation_barrier, nobody_begins_a_phase_before_all_have_ended_the_last_one) {
  constexpr int parties = 3, phases = 500;
  struct Counts {
    Barrier barrier{parties};
    std::atomic<int> ended[parties] = {};
  };
  const Shared<Counts> board;
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
