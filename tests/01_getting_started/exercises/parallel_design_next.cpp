// Tests a Mapping whose tasks a learner hands out.

#include "mapping.hpp"

#include <atomic>
#include <cstdio>
#include <latch>
#include <string>
#include <thread>
#include <vector>

using judge::expect;

namespace {

constexpr const char* names[] = {"block", "cyclic", "one_queue", "work_stealing"};

std::string name_of(Way way) { return names[static_cast<int>(way)]; }

/// The numbers of the next tasks of a worker; the tasks are single items.
std::vector<int> taken(Mapping& mapping, std::size_t worker, int most) {
  std::vector<int> numbers;
  while (static_cast<int>(numbers.size()) < most) {
    const std::optional<Task> task = mapping.next(worker);
    if (!task) break;
    numbers.push_back(task->first);
  }
  return numbers;
}

void expect_taken(Way way, Mapping& mapping, std::size_t worker, const std::vector<int>& expected) {
  const std::vector<int> numbers = taken(mapping, worker, static_cast<int>(expected.size()));
  expect(numbers.size() == expected.size(), name_of(way) + ": a worker gets no task, although its list has one.");
  expect(numbers == expected,
         name_of(way) + ": a worker does not get the tasks of its list in order, or gets one more than once.");
}

void one_list_for_each(Way way, const std::vector<int>& first, const std::vector<int>& second) {
  Mapping mapping(way, tasks_of(6, 1), 2);
  expect_taken(way, mapping, 1, {second[0]});
  expect_taken(way, mapping, 0, first);
  expect(!mapping.next(0), name_of(way) + ": a worker whose list is empty gets a task which is not its own.");
  expect_taken(way, mapping, 1, {second[1], second[2]});
  expect(!mapping.next(1) && !mapping.next(0), name_of(way) + ": all tasks are done, and a worker gets one.");
}

void one_list_for_all() {
  const Way way = Way::one_queue;
  Mapping mapping(way, tasks_of(6, 1), 3);
  expect_taken(way, mapping, 2, {0});
  expect_taken(way, mapping, 0, {1, 2});
  expect_taken(way, mapping, 1, {3, 4});
  expect_taken(way, mapping, 2, {5});
  for (const std::size_t worker : {0, 1, 2})
    expect(!mapping.next(worker), "All tasks are done, and a worker gets one.");
}

void stealing() {
  const Way way = Way::work_stealing;
  Mapping mapping(way, tasks_of(8, 1), 2);
  expect_taken(way, mapping, 1, {4, 5, 6, 7});
  const std::optional<Task> stolen = mapping.next(1);
  expect(stolen.has_value(), "work_stealing: a worker gets no task, although another list has one.");
  expect(stolen->first == 3, "work_stealing: a worker steals a task that is not the last one of the other list.");
  expect_taken(way, mapping, 0, {0, 1, 2});
  expect(!mapping.next(0) && !mapping.next(1), "work_stealing: all tasks are done, and a worker gets one.");

  // Wherever the only list lies that has tasks left.
  for (std::size_t owner = 0; owner < 4; ++owner) {
    for (std::size_t thief = 0; thief < 4; ++thief) {
      Mapping four(way, tasks_of(12, 1), 4);
      for (std::size_t worker = 0; worker < 4; ++worker) taken(four, worker, worker == owner ? 1 : 3);
      const int last = 3 * static_cast<int>(owner) + 2;
      const std::optional<Task> task = four.next(thief);
      expect(task.has_value(), "work_stealing: a worker gets no task, although another list has one.");
      expect(task->first == (thief == owner ? last - 1 : last),
             "work_stealing: a worker does not get the first task of its own list, or steals one that is not the last "
             "one.");
    }
  }

  // Each of many workers has one task.
  for (const std::size_t workers : {9U, 1000U}) {
    for (std::size_t owner = 0; owner < workers; owner += workers == 9 ? 1 : 123) {
      for (const std::size_t thief : {std::size_t{0}, owner / 2, workers - 1}) {
        if (thief == owner) continue;
        Mapping many(way, tasks_of(static_cast<int>(workers), 1), workers);
        for (std::size_t worker = 0; worker < workers; ++worker) taken(many, worker, worker == owner ? 0 : 1);
        const std::optional<Task> task = many.next(thief);
        expect(task.has_value(),
               "work_stealing: a worker gets no task, although another list has one: that of worker " +
                   std::to_string(owner) + " of " + std::to_string(workers) + ".");
        expect(task->first == static_cast<int>(owner), "work_stealing: a task is handed out more than once.");
      }
    }
  }
}

/// Three thieves are at one list, and its owner as well.
void all_at_one_list() {
  const Way way = Way::work_stealing;
  constexpr int tasks = 20'000, workers = 4;
  Mapping mapping(way, tasks_of(tasks, 1), workers);
  std::atomic<int> handed_out = 0;
  for (std::size_t worker = 1; worker < workers; ++worker) {
    handed_out += static_cast<int>(taken(mapping, worker, tasks / workers).size());
  }
  std::latch all_are_there(workers);
  std::vector<std::jthread> threads;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      all_are_there.arrive_and_wait();
      while (mapping.next(worker)) ++handed_out;
      // Each of the other three may have taken one that it has not counted yet.
      expect(handed_out >= tasks - (workers - 1),
             "work_stealing: a worker gets no task when others are at the same time at the only list that has some.");
    });
  }
}

void many_workers(Way way) {
  constexpr int tasks = 400, workers = 4;
  Mapping mapping(way, tasks_of(tasks, 1), workers);
  std::vector<std::atomic<int>> times(tasks);
  {
    std::latch all_are_there(workers);
    std::vector<std::jthread> threads;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      threads.emplace_back([&, worker] {
        all_are_there.arrive_and_wait();
        while (const std::optional<Task> task = mapping.next(worker)) {
          expect(
              task->first >= 0 && task->first < tasks,
              name_of(way) + ": a worker gets a task that does not exist, when several take tasks at the same time.");
          expect(++times[task->first] == 1,
                 name_of(way) +
                     ": a task is handed out more than once, when several workers take tasks at the same time.");
        }
      });
    }
  }
  for (const std::atomic<int>& one : times) expect(one == 1, name_of(way) + ": a task is never handed out.");
}

}  // namespace

int main() {
  one_list_for_each(Way::block, {0, 1, 2}, {3, 4, 5});
  one_list_for_each(Way::cyclic, {0, 2, 4}, {1, 3, 5});
  one_list_for_all();
  stealing();
  for (int round = 0; round < 5; ++round) {
    for (const Way way : {Way::block, Way::cyclic, Way::one_queue, Way::work_stealing}) many_workers(way);
  }
  for (int round = 0; round < 5; ++round) all_at_one_list();
  std::puts("every task was handed out once");
}
