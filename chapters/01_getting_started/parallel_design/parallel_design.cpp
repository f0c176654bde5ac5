// Design a parallel program
//
// Foster's four steps for a job with uneven work. Partitioning: cut it into the smallest pieces that make sense, items.
// Communication: find out what the pieces have to tell one another, here only their sums. Agglomeration: put items
// together into tasks; how many? Mapping: decide which worker does which task. The program does the job with tasks of
// three sizes and with four mappings (mapping.hpp), and prints what each gains, and what it would gain if only the
// division of the work mattered.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/parallel_design/parallel_design.cpp common/cookbook/*.cpp -lfmt -pthread -o parallel_design
// Run:     parallel_design [--workers N] [--steps N]

#include <algorithm>
#include <array>
#include <barrier>
#include <string>
#include <thread>
#include <utility>
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

/// A worker: it does tasks until there is none for it any more.
Record work(Mapping& mapping, std::size_t worker, int steps) {
  Record record;
  while (const auto task = mapping.next(worker)) {
    for (int item = task->first; item < task->last; ++item) {
      record.sum += do_item(item, items, steps);
      record.units += units_of(item, items);
    }
  }
  return record;
}

Run run(Way way, int group, int workers, int steps) {
  Mapping mapping(way, tasks_of(items, group), static_cast<std::size_t>(workers));
  Run records(static_cast<std::size_t>(workers));
  cookbook::Stopwatch watch;
  std::barrier begin(workers, [&]() noexcept { watch = {}; });  // all wait; the last to come starts the watch anew
  {
    std::vector<std::jthread> threads;
    for (std::size_t worker = 0; worker < records.size(); ++worker) {
      threads.emplace_back([&, worker] {
        cookbook::pin(static_cast<int>(worker));  // else the system may run two on one core, and move one only later
        begin.arrive_and_wait();
        Record record = work(mapping, worker, steps);
        record.end = watch.seconds();
        records[worker] = record;
      });
    }
  }  // joins
  return records;
}

}  // namespace

int main(int argc, char** argv) {
  int workers = 2, steps = 30;
  cookbook::Options options("Do an uneven job with tasks of three sizes, mapped to workers in four ways");
  options.add("workers", workers, "threads that work", 1, 64);
  options.add("steps", steps, "steps of calculation per unit of work", 1, 10'000);
  options.parse(argc, argv);

  constexpr std::array groups = {1, 16, 512};
  constexpr std::array<std::pair<const char*, Way>, 4> ways = {{{"block", Way::block},
                                                                {"cyclic", Way::cyclic},
                                                                {"one queue", Way::one_queue},
                                                                {"work stealing", Way::work_stealing}}};
  Run alone;  // one worker with one task, all items
  std::array<std::array<Run, groups.size()>, ways.size()> best;
  int wrong = 0;
  for (int round = 0; round < 20; ++round) {  // all take turns, so that a change of the clock meets all alike
    keep_best(alone, run(Way::block, items, 1, steps));
    for (std::size_t way = 0; way < ways.size(); ++way) {
      for (std::size_t group = 0; group < groups.size(); ++group) {
        Run records = run(ways[way].second, groups[group], workers, steps);
        Sum sum = 0;
        for (const Record& record : records) sum += record.sum;
        wrong += sum != alone[0].sum;
        keep_best(best[way][group], std::move(records));
      }
    }
  }

  const double seconds = makespan_of(alone);
  cookbook::println("{} items, {} units of work; one worker takes {:.2f} ms", items, alone[0].units, seconds * 1e3);
  cookbook::println("gain of {} workers ({} / imbalance)", workers, workers);
  cookbook::println("                 tasks of 1 item       of 16 items      of 512 items");
  for (std::size_t way = 0; way < ways.size(); ++way) {
    std::string line = fmt::format("{:<14}", ways[way].first);
    for (const Run& records : best[way]) {
      line += fmt::format("{:>8.2f} x {:>9}", seconds / makespan_of(records),
                          fmt::format("({:.2f} x)", workers / imbalance_of(records)));
    }
    cookbook::println("{}", line);
  }

  cookbook::Checks checks;
  checks.equal("runs with another result than one worker alone", wrong, 0);
  return checks.exit_code();
}
