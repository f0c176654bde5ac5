// Pitfall: equal numbers of tasks are not equal work
//
// Sixteen tasks are mapped to two workers, eight each. But the tasks do not cost the same, and the costly ones are at
// the end of the row, so the second worker has 43 % more work than the average. The job takes as long as this worker.
// When the costs are known, give the longest task first, each one to the worker that has least so far.
//
// Compile: g++ -std=c++20 -O2 chapters/01_getting_started/parallel_design/parallel_design_equal_numbers.cpp -o parallel_design_equal_numbers
// Run:     parallel_design_equal_numbers
// Symptom: exit 1, prints "the busiest worker has 50 of 70 units"

#include <algorithm>
#include <cstdio>
#include <vector>

/// The mapping: the number of the worker for each task. `units` is the work of each task.
std::vector<int> map_tasks(const std::vector<int>& units, int workers) {
  const int tasks = static_cast<int>(units.size());
  std::vector<int> worker_of;
  // TODO: give the workers equal work.
  for (int task = 0; task < tasks; ++task) worker_of.push_back(task * workers / tasks);  // wrong: equal numbers
  return worker_of;
}

int main() {
  const std::vector<int> units = {1, 4, 1, 4, 1, 4, 1, 4, 1, 4, 1, 4, 4, 16, 4, 16};
  const std::vector<int> worker_of = map_tasks(units, 2);
  std::vector<int> sums(2);
  for (std::size_t task = 0; task < units.size(); ++task) sums.at(worker_of.at(task)) += units[task];

  const int most = std::max(sums[0], sums[1]);
  std::printf("worker 0: %d units, worker 1: %d units\n", sums[0], sums[1]);
  std::printf("the busiest worker has %d of %d units\n", most, sums[0] + sums[1]);
  return most == 35 ? 0 : 1;
}
