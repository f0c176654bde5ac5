// The four mappings in the process, the program from outside.

#include <fmt/format.h>

#include <algorithm>
#include <latch>
#include <regex>
#include <set>
#include <thread>

#include "01_getting_started/parallel_design/mapping.hpp"
#include "01_getting_started/parallel_design/record.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

const auto ways = {Way::block, Way::cyclic, Way::one_queue, Way::work_stealing};

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

TEST(parallel_design, one_queue_gives_the_next_task_to_whoever_asks) {
  Mapping mapping(Way::one_queue, tasks_of(5, 1), 3);
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

TEST(parallel_design, an_item_takes_so_many_steps_for_each_of_its_units) {
  for (const int steps : {30, 300}) {
    for (const int item : {0, 1, 7, 2047}) {
      Sum number = static_cast<Sum>(item);
      for (int unit = 0; unit < units_of(item, 2048); ++unit) {
        for (int step = 0; step < steps; ++step) number = 1 + 0xbf58476d1ce4e5b9 * (number ^ (number >> 29));
      }
      EXPECT_EQ(do_item(item, 2048, steps), number) << item;
    }
  }
}

TEST(parallel_design, the_makespan_ends_with_the_last_worker) {
  EXPECT_EQ(makespan_of({{}, {0, 0, 2.5}}), 2.5);
  EXPECT_EQ(makespan_of({{0, 0, 3}, {0, 0, 2.5}, {}}), 3);
}

TEST(parallel_design, the_imbalance_is_the_work_of_the_busiest_over_the_average) {
  EXPECT_EQ(imbalance_of({{0, 5, 0}, {0, 5, 0}}), 1);
  EXPECT_EQ(imbalance_of({{0, 6, 0}, {0, 0, 0}, {0, 3, 0}}), 2);
}

TEST(parallel_design, the_best_run_is_the_one_with_the_shortest_makespan) {
  std::vector<double> makespans = {1, 2, 3};
  do {
    ::Run best;
    // The worker that ends first says nothing of a run.
    for (const double makespan : makespans) keep_best(best, {{0, 0, makespan}, {0, 0, 0.5 / makespan}});
    EXPECT_EQ(makespan_of(best), 1) << testing::PrintToString(makespans);
  } while (std::ranges::next_permutation(makespans).found);
}

/// The figures of a row, in the order of the columns: a gain and what to expect of it, for each size of a task.
std::vector<double> row_of(const test_support::Result& result, const std::string& name) {
  std::string regex = "^" + name;
  for (int i = 0; i < 3; ++i) regex += " +([0-9.]+) x +\\(([0-9.]+) x\\)";
  std::vector<double> figures;
  std::smatch groups;
  for (const std::string& line : result.lines_with(regex + "$")) {
    if (!std::regex_match(line, groups, std::regex(regex))) continue;
    for (std::size_t i = 1; i < groups.size(); ++i) figures.push_back(std::stod(groups[i]));
  }
  return figures;
}

TEST(parallel_design, the_program_shows_a_gain_for_each_mapping_and_size_of_a_task) {
  for (const int workers : {1, 3, 7}) {
    const auto result = run("parallel_design", {"--workers", std::to_string(workers)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    for (const std::string name : {"block", "cyclic", "one queue", "work stealing"}) {
      const std::vector<double> figures = row_of(result, name);
      ASSERT_EQ(figures.size(), 6U) << name << '\n' << result.text();
      for (const std::size_t expected : {1U, 3U, 5U}) {
        EXPECT_GE(figures[expected], 0.99) << result.text();
        EXPECT_LE(figures[expected], workers + 0.01) << result.text();
        EXPECT_GT(figures[expected - 1], 0) << result.text();
      }
    }
    EXPECT_TRUE(result.has_line("ok    runs with another result than one worker alone: 0")) << result.text();
    EXPECT_EQ(result.lines_with("^2048 items, 14689 units of work; one worker takes [0-9.]+ ms$").size(), 1U)
        << result.text();
    EXPECT_TRUE(result.has_line(fmt::format("gain of {} workers ({} / imbalance)", workers, workers)));
  }
}

TEST(parallel_design, one_worker_gains_nothing_by_large_tasks) {
  const auto result = run("parallel_design", {"--workers", "1", "--steps", "300"});
  for (const std::string name : {"block", "cyclic", "one queue", "work stealing"}) {
    const std::vector<double> figures = row_of(result, name);
    ASSERT_EQ(figures.size(), 6U) << name << '\n' << result.text();
    EXPECT_NEAR(figures[4], 1, 0.3) << "the gain is the time alone over the makespan\n" << result.text();
    for (const std::size_t expected : {1U, 3U, 5U}) EXPECT_EQ(figures[expected], 1) << result.text();
  }
}

TEST(parallel_design, static_mappings_are_expected_to_gain_what_the_units_say) {
  for (const int workers : {2, 4}) {
    const auto result = run("parallel_design", {"--workers", std::to_string(workers)});
    const std::vector<double> block_row = row_of(result, "block"), cyclic_row = row_of(result, "cyclic");
    ASSERT_TRUE(block_row.size() == 6 && cyclic_row.size() == 6) << result.text();
    for (std::size_t column = 1; const int group : {1, 16, 512}) {
      std::vector<long> block(static_cast<std::size_t>(workers)), cyclic = block;
      long all = 0;
      for (int item = 0; item < 2048; ++item) {
        const int units = units_of(item, 2048), task = item / group;
        block[static_cast<std::size_t>(task * workers / (2048 / group))] += units;
        cyclic[static_cast<std::size_t>(task % workers)] += units;
        all += units;
      }
      const auto expected = [&](const std::vector<long>& units) {
        return static_cast<double>(all) / static_cast<double>(*std::ranges::max_element(units));
      };
      EXPECT_NEAR(block_row[column], expected(block), 0.006) << result.text();
      EXPECT_NEAR(cyclic_row[column], expected(cyclic), 0.006) << result.text();
      column += 2;
    }
  }
}

}  // namespace
