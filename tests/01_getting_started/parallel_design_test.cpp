// The four mappings in the process, the program from outside.

#include <fmt/format.h>

#include <algorithm>
#include <latch>
#include <set>
#include <thread>

#include "01_getting_started/parallel_design/mapping.hpp"
#include "01_getting_started/parallel_design/record.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

const auto ways = {Way::block, Way::cyclic, Way::manager_worker, Way::work_stealing};

/// The first items of a worker's tasks, taken one after the other until there is none.
std::vector<int> all_of(Mapping& mapping, std::size_t worker) {
  std::vector<int> firsts;
  while (const auto task = mapping.next(worker)) firsts.push_back(task->first);
  return firsts;
}

TEST(parallel_design, tasks_are_all_items_in_groups) {
  for (const int items : {1, 7, 64}) {
    for (const int group : {1, 3, 7, 100}) {
      int next = 0;
      for (const Task& task : tasks_of(items, group)) {
        EXPECT_EQ(task.first, next);
        EXPECT_LE(task.last - task.first, group);
        next = task.last;
      }
      EXPECT_EQ(next, items);
      EXPECT_EQ(tasks_of(items, group).size(), static_cast<std::size_t>((items + group - 1) / group));
    }
  }
}

TEST(parallel_design, the_job_is_uneven) {
  std::vector<int> units;
  for (int item = 0; item < 2048; ++item) units.push_back(units_of(item, 2048));
  EXPECT_EQ(*std::ranges::min_element(units), 1);
  EXPECT_EQ(*std::ranges::max_element(units), 256);
  const auto sum = [&](int first, int last) {
    long total = 0;
    for (int i = first; i < last; ++i) total += units[static_cast<std::size_t>(i)];
    return total;
  };
  EXPECT_GT(sum(1536, 2048), sum(0, 1536)) << "the last quarter is more than half of the work";
}

TEST(parallel_design, static_mappings_give_each_worker_its_own_tasks_and_no_others) {
  const std::vector<Task> tasks = tasks_of(8, 1);
  Mapping block(Way::block, tasks, 2), cyclic(Way::cyclic, tasks, 2);
  EXPECT_EQ(all_of(block, 0), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(all_of(block, 1), (std::vector{4, 5, 6, 7}));
  EXPECT_EQ(all_of(cyclic, 1), (std::vector{1, 3, 5, 7}));
  EXPECT_EQ(all_of(cyclic, 0), (std::vector{0, 2, 4, 6}));
}

TEST(parallel_design, the_manager_gives_the_next_task_to_whoever_asks) {
  Mapping mapping(Way::manager_worker, tasks_of(5, 1), 3);
  EXPECT_EQ(mapping.next(2)->first, 0);
  EXPECT_EQ(mapping.next(0)->first, 1);
  EXPECT_EQ(all_of(mapping, 2), (std::vector{2, 3, 4}));
  EXPECT_FALSE(mapping.next(1));
}

TEST(parallel_design, a_thief_takes_the_last_tasks_of_another_and_the_owner_keeps_the_first) {
  Mapping mapping(Way::work_stealing, tasks_of(8, 1), 2);
  EXPECT_EQ(mapping.next(0)->first, 0);
  for (const int own : {4, 5, 6, 7}) EXPECT_EQ(mapping.next(1)->first, own);
  EXPECT_EQ(mapping.next(1)->first, 3) << "the last of the other's";
  EXPECT_EQ(mapping.next(0)->first, 1);
  EXPECT_EQ(mapping.next(1)->first, 2);
  EXPECT_FALSE(mapping.next(0));
  EXPECT_FALSE(mapping.next(1));
}

TEST(parallel_design, each_task_is_done_once_by_any_number_of_workers_at_the_same_time) {
  constexpr int items = 50'000;  // enough for the workers to meet at the lists
  for (const Way way : ways) {
    for (const std::size_t workers : {1U, 2U, 5U, 16U}) {
      Mapping mapping(way, tasks_of(items, 1), workers);
      std::vector<std::vector<int>> done(workers);
      std::latch all_are_there(static_cast<std::ptrdiff_t>(workers));
      {
        std::vector<std::jthread> threads;
        for (std::size_t w = 0; w < workers; ++w) {
          threads.emplace_back([&, w] {
            all_are_there.arrive_and_wait();
            done[w] = all_of(mapping, w);
          });
        }
      }
      std::vector<int> all;
      for (const auto& of_worker : done) all.insert(all.end(), of_worker.begin(), of_worker.end());
      std::ranges::sort(all);
      ASSERT_EQ(all.size(), static_cast<std::size_t>(items));
      for (int i = 0; i < items; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], i);
    }
  }
}

TEST(parallel_design, an_item_takes_three_hundred_steps_for_each_of_its_units) {
  for (const int item : {0, 1, 7, 2047}) {
    Sum number = static_cast<Sum>(item);
    for (int unit = 0; unit < units_of(item, 2048); ++unit) {
      for (int step = 0; step < 300; ++step) number = 1 + 0xbf58476d1ce4e5b9 * (number ^ (number >> 29));
    }
    EXPECT_EQ(do_item(item, 2048), number) << item;
  }
}

TEST(parallel_design, a_worker_that_has_done_nothing_has_nothing_in_its_record) {
  const Record none;
  EXPECT_EQ(none.units, 0);
  EXPECT_EQ(none.sum, 0U);
  EXPECT_EQ(none.end(), 0);
}

TEST(parallel_design, the_makespan_ends_with_the_last_task_of_the_last_worker) {
  const Record none, one = {{{{0, 1}, 2.5}}}, two = {{{{1, 2}, 1}, {{2, 3}, 3}}};
  EXPECT_EQ(makespan_of({none, one}), 2.5);
  EXPECT_EQ(makespan_of({two, one, none}), 3);
}

TEST(parallel_design, the_best_of_three_runs_is_the_one_with_the_shortest_makespan) {
  std::vector<double> makespans = {1, 2, 3};
  do {
    std::size_t runs = 0;
    const auto best = best_of_three([&] {
      // The worker that ends first says nothing of a run.
      const Record last = {{{{0, 1}, makespans.at(runs)}}}, first = {{{{1, 2}, 0.5 / makespans.at(runs)}}};
      ++runs;
      return std::vector{first, last};
    });
    EXPECT_EQ(runs, makespans.size());
    EXPECT_EQ(makespan_of(best), 1) << testing::PrintToString(makespans);
  } while (std::ranges::next_permutation(makespans).found);
}

TEST(parallel_design, the_program_shows_a_time_line_per_worker) {
  for (const std::string workers : {"1", "3", "7"}) {
    const auto result = run("parallel_design", {"--workers", workers, "--group", "50", "--draw"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("^[a-z /]+( +[0-9.]+ x){3} +[0-9.]+ ms$").size(), 4U) << result.text();
    const auto lines = result.captures("^  ([1-4.]{60})$");
    ASSERT_EQ(lines.size(), 4U * std::stoul(workers)) << result.text();
    for (auto first = lines.begin(); first != lines.end(); first += std::stol(workers)) {
      EXPECT_TRUE(std::any_of(first, first + std::stol(workers), [](const auto& line) { return line.back() != '.'; }))
          << "the last worker to finish is not idle\n"
          << result.text();
    }
    EXPECT_TRUE(result.has_line("ok    mappings with another result than one worker alone: 0")) << result.text();
  }
}

TEST(parallel_design, the_time_lines_of_block_show_the_quarters_of_each_worker) {
  const auto result = run("parallel_design", {"--workers", "2", "--draw"});
  const auto lines = result.captures("^  ([1-4.]{60})$");
  ASSERT_EQ(lines.size(), 8U) << result.text();
  EXPECT_EQ(lines[0].find_first_of("34"), std::string::npos) << result.text();
  EXPECT_EQ(lines[1].find_first_of("12"), std::string::npos) << result.text();
  EXPECT_NE(lines[1].find('4'), std::string::npos) << "it has the last quarter, most of the work\n" << result.text();
}

TEST(parallel_design, the_gain_is_the_time_of_the_loop_over_the_makespan_and_the_imbalance_tells_what_to_expect) {
  const auto result = run("parallel_design", {"--workers", "2"});
  const auto loop = result.captures("^one loop +([0-9.]+) ms$"),
             makespans = result.captures("^[a-z /]+ .* x +([0-9.]+) ms$"),
             imbalances = result.captures("^[a-z /]+ +([0-9.]+) x +[0-9.]+ x +[0-9.]+ x "),
             expected = result.captures("^[a-z /]+ +[0-9.]+ x +([0-9.]+) x +[0-9.]+ x "),
             gains = result.captures("^[a-z /]+ +[0-9.]+ x +[0-9.]+ x +([0-9.]+) x ");
  ASSERT_TRUE(loop.size() == 1 && makespans.size() == 4 && gains.size() == 4) << result.text();
  ASSERT_TRUE(imbalances.size() == 4 && expected.size() == 4) << result.text();
  for (std::size_t way = 0; way < gains.size(); ++way) {
    const double gain = std::stod(loop[0]) / std::stod(makespans[way]);
    EXPECT_NEAR(std::stod(gains[way]), gain, 0.01 + 0.01 * gain) << result.text();
    EXPECT_NEAR(std::stod(expected[way]), 2 / std::stod(imbalances[way]), 0.02) << result.text();
  }
}

TEST(parallel_design, idle_workers_are_those_without_a_task) {
  const auto result = run("parallel_design", {"--workers", "3", "--group", "1024", "--draw"});  // two tasks
  EXPECT_GE(result.lines_with("^  [.]{60}$").size(), 4U) << result.text();
  EXPECT_TRUE(result.has_line("partitioning        2048 items, 14689 units of work")) << result.text();
  EXPECT_TRUE(result.has_line("agglomeration       2 tasks of 1024 items")) << result.text();
}

TEST(parallel_design, the_imbalance_of_static_mappings_is_what_the_units_say) {
  for (const int workers : {2, 4}) {
    std::vector<long> block(static_cast<std::size_t>(workers)), cyclic = block;
    long all = 0;
    for (int item = 0; item < 2048; ++item) {
      const int units = units_of(item, 2048), task = item / 16;
      block[static_cast<std::size_t>(task * workers / 128)] += units;
      cyclic[static_cast<std::size_t>(task % workers)] += units;
      all += units;
    }
    const auto text = [&](const std::vector<long>& units) {
      return fmt::format("{:.2f}",
                         static_cast<double>(*std::ranges::max_element(units)) * workers / static_cast<double>(all));
    };
    const auto result = run("parallel_design", {"--workers", std::to_string(workers)});
    EXPECT_EQ(result.captures("^block +([0-9.]+) x "), std::vector<std::string>{text(block)}) << result.text();
    EXPECT_EQ(result.captures("^cyclic +([0-9.]+) x "), std::vector<std::string>{text(cyclic)}) << result.text();
  }
}

}  // namespace
