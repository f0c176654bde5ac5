// Design a parallel program
//
// Foster's four steps for a job with uneven work. Partitioning: cut it into the smallest pieces that make sense, items.
// Communication: find out what the pieces have to tell one another, here only their sums. Agglomeration: put items
// together into tasks, so that handing over a task costs little beside doing it. Mapping: decide which worker does
// which task. Four mappings (mapping.hpp) do the same job; the program prints how evenly each divides the work, what it
// should gain by that, and what it gains.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/parallel_design/parallel_design.cpp common/cookbook/*.cpp -lfmt -pthread -o parallel_design
// Run:     parallel_design [--workers N] [--group N] [--draw]

#include <algorithm>
#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "mapping.hpp"
#include "record.hpp"

namespace {

constexpr int items = 2048;

std::vector<Record> run(Way way, const std::vector<Task>& tasks, int workers) {
  Mapping mapping(way, tasks, static_cast<std::size_t>(workers));
  std::vector<Record> records(static_cast<std::size_t>(workers));
  cookbook::Stopwatch watch;
  std::barrier begin(workers, [&]() noexcept { watch = {}; });  // all wait; the last to come starts the watch anew
  {
    std::vector<std::jthread> threads;
    for (std::size_t worker = 0; worker < records.size(); ++worker) {
      threads.emplace_back([&, worker] {
        cookbook::pin(static_cast<int>(worker));  // else the system may run two on one core, and move one only later
        Record record;
        begin.arrive_and_wait();
        while (const auto task = mapping.next(worker)) {
          for (int item = task->first; item < task->last; ++item) {
            record.sum += do_item(item, items);
            record.units += units_of(item, items);
          }
          record.done.emplace_back(*task, watch.seconds());
        }
        records[worker] = record;
      });
    }
  }  // joins
  return records;
}

/// A worker's time line of `width` places: the quarter of the job that it worked on, 1 to 4, or a dot while it was
/// idle.
std::string time_line(const Record& record, double makespan, int width) {
  std::string line(static_cast<std::size_t>(width), '.');
  double start = 0;
  for (const auto& [task, end] : record.done) {
    const auto place = [&](double time) { return static_cast<std::size_t>(time / makespan * width); };
    for (std::size_t i = place(start); i < place(end); ++i) line[i] = static_cast<char>('1' + 4 * task.first / items);
    start = end;
  }
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  int workers = 2, group = 16;
  bool draw = false;
  cookbook::Options options("Map the tasks of an uneven job to workers in four ways");
  options.add("workers", workers, "threads that work", 1, 64);
  options.add("group", group, "items per task", 1, items);
  options.add_flag("draw", draw, "draw a time line per worker: the quarter of the job that it works on");
  options.parse(argc, argv);

  const std::vector<Task> tasks = tasks_of(items, group);
  Sum alone = 0;
  long units = 0;
  double seconds = 1e9;  // of the plain loop
  for (int i = 0; i < 3; ++i) {
    const cookbook::Stopwatch watch;
    alone = 0;
    units = 0;
    for (int item = 0; item < items; ++item) {
      alone += do_item(item, items);
      units += units_of(item, items);
    }
    seconds = std::min(seconds, watch.seconds());
  }
  cookbook::println("partitioning        {} items, {} units of work", items, units);
  cookbook::println("communication       one sum per worker, at the end");
  cookbook::println("agglomeration       {} tasks of {} items", tasks.size(), group);
  cookbook::println("{:<20} imbalance  {:>2} / imbalance     gain   makespan",
                    fmt::format("mapping, {} workers", workers), workers);
  cookbook::println("one loop            {:>45.2f} ms", seconds * 1e3);

  int wrong = 0;
  for (const auto& [name, way] :
       {std::pair("block", Way::block), std::pair("cyclic", Way::cyclic),
        std::pair("manager/worker", Way::manager_worker), std::pair("work stealing", Way::work_stealing)}) {
    const std::vector<Record> records = best_of_three([&] { return run(way, tasks, workers); });
    const double makespan = makespan_of(records);
    Sum sum = 0;
    long most = 0;
    std::string lines;
    for (const Record& record : records) {
      sum += record.sum;
      most = std::max(most, record.units);
      lines += "\n  " + time_line(record, makespan, 60);
    }
    wrong += sum != alone;
    const double imbalance = static_cast<double>(most) * workers / static_cast<double>(units);
    cookbook::println("{:<20}{:8.2f} x{:14.2f} x{:7.2f} x{:8.2f} ms{}", name, imbalance, workers / imbalance,
                      seconds / makespan, makespan * 1e3, draw ? lines : "");
  }

  cookbook::Checks checks;
  checks.equal("mappings with another result than one worker alone", wrong, 0);
  return checks.exit_code();
}
