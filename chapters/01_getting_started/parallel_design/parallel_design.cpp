// Designing a parallel program
//
// A job of items, some of which cost hundreds of times as much as others, becomes a parallel program in four steps. Cut
// it into tasks, by data or by function. Assign each worker a share that suits its speed. Merge small tasks, since
// handing one over has its price. Map tasks to workers: before the run, in blocks or in turns, or during it, by a
// manager, by managers of groups, or by workers that steal from each other. Each mapping is played through on paper,
// for up to 256 workers, and run by threads. --out draws who did what when.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/parallel_design/parallel_design.cpp common/cookbook/*.cpp -lfmt -pthread -o parallel_design
// Run:     parallel_design [--items N] [--group N] [--workers N] [--rounds N] [--out FILE.svg]

#include <algorithm>
#include <array>
#include <barrier>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "gantt.hpp"
#include "job.hpp"
#include "mappings.hpp"
#include "on_paper.hpp"
#include "steps_on_paper.hpp"

namespace {

using cookbook::println;

std::vector<Sum> listed(const Results& results) { return {results.begin(), results.end()}; }

void add(Results& to, const Results& results) {
  for (std::size_t function = 0; function < functions; ++function) to[function] += results[function];
}

struct Run {
  Results results{};
  std::vector<Turn> turns;
};

/// Threads that begin together and do what the mapping gives them, until it has no more for them.
Run by_threads(Mapping& mapping, const Job& job, std::size_t workers) {
  std::vector<Run> own(workers);
  cookbook::Stopwatch watch;
  std::barrier start(static_cast<std::ptrdiff_t>(workers), [&]() noexcept { watch = {}; });
  std::vector<std::jthread> crew;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    crew.emplace_back([&, worker] {
      Run run;
      start.arrive_and_wait();
      while (const std::optional<Grant> grant = mapping.next(worker)) {
        const double begin = watch.seconds();
        add(run.results, work(job, grant->task));
        run.turns.push_back({worker, grant->task, begin, watch.seconds()});
      }
      own[worker] = std::move(run);
    });
  }
  crew.clear();  // joins
  Run all;
  for (const Run& run : own) {
    add(all.results, run.results);
    all.turns.insert(all.turns.end(), run.turns.begin(), run.turns.end());
  }
  return all;
}

// The four steps ------------------------------------------------------------------------------------------------------

/// The data is cut: each task has a part of the items, and does all functions of them.
Results by_data(const Job& job, long parts) {
  std::vector<std::future<Results>> tasks;
  for (long part = 0; part < parts; ++part) {
    const Task task{job.items() * part / parts, job.items() * (part + 1) / parts};
    tasks.push_back(std::async(std::launch::async, [&job, task] { return work(job, task); }));
  }
  Results results{};
  for (std::future<Results>& task : tasks) add(results, task.get());
  return results;
}

/// The functions are dealt out: each task has one of them, and does it to all of the items.
Results by_function(const Job& job) {
  std::array<std::future<Sum>, functions> tasks;
  for (std::size_t function = 0; function < functions; ++function) {
    tasks[function] = std::async(std::launch::async, [&job, function] {
      Sum sum = 0;
      for (long item = 0; item < job.items(); ++item) sum += find(job, item, function);
      return sum;
    });
  }
  Results results{};
  for (std::size_t function = 0; function < functions; ++function) results[function] = tasks[function].get();
  return results;
}

void decomposition(cookbook::Checks& checks, const Job& job) {
  const Results expected = work(job, {0, job.items()});
  println("\n1 decomposition");
  checks.equal("by data, 2 parts", listed(by_data(job, 2)), listed(expected));
  checks.equal("by data, 7 parts", listed(by_data(job, 7)), listed(expected));
  checks.equal("by function, a task each", listed(by_function(job)), listed(expected));
}

/// Many small items, in groups. One worker, so that the cost of handing over is all that changes.
void agglomeration(cookbook::Checks& checks, const Job& paper, int rounds) {
  constexpr long items = 16'384;
  const Job small{std::vector<long>(items, 1), 5};
  const Results expected = work(small, {0, items});
  const std::vector<long> groups = {1, 4, 16, 64, 256};
  bool right = true;
  std::vector<cookbook::Row> rows;
  for (const long group : groups) {
    rows.emplace_back(fmt::format("groups of {}", group), 1, [&, group] {
      Manager manager(tasks_of(small, group));
      const Run run = by_threads(manager, small, 1);
      right = right && run.results == expected && each_once(small, run.turns);
      return makespan(run.turns);
    });
  }
  std::vector<double> seconds;  // the shortest, since other programs only ever add to a time
  for (const cookbook::Timing& timing : cookbook::measure_in_turns(rows, rounds)) seconds.push_back(timing.minimum);
  println("\n3 agglomeration: {} items, handed over in groups", items);
  checks.equal(
      "1000 items, 10 for a group and 1 for an item: groups of 1, 10, 100",
      std::vector{time_in_groups(1000, 1, 10, 1), time_in_groups(1000, 10, 10, 1), time_in_groups(1000, 100, 10, 1)},
      {11'000, 2'000, 1'100});
  checks.that("groups of any size: each item once, the same results", right);

  // Two equations, the first and the last row, for the two unknowns of the formula.
  const double n = items, last = static_cast<double>(groups.back());
  const double fixed = (seconds.front() - seconds.back()) / (n - n / last), each = seconds.front() / n - fixed;
  println("fixed cost of a group {:.0f} ns, cost of an item {:.0f} ns", fixed * 1e9, each * 1e9);
  println("group  handed over  by the formula  measured  64 workers on paper");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Manager manager(tasks_of(paper, groups[g]));
    println("{:5}  {:11}  {:11.0f} us  {:5.0f} us  {:13.0f} units", groups[g], items / groups[g],
            time_in_groups(n, static_cast<double>(groups[g]), fixed, each) * 1e6, seconds[g] * 1e6,
            makespan(play(manager, paper, 64, hand_over, false)));
  }
}

/// Runs every mapping by threads, in turns, and keeps the course of the shortest run of each.
std::vector<Course> mapping(cookbook::Checks& checks, const Job& job, long group, std::size_t workers, int rounds) {
  const std::vector<Task> tasks = tasks_of(job, group);
  const Task everything{0, job.items()};
  const Results expected = work(job, everything);
  const std::vector<Scheme> all = schemes();
  std::vector<Course> courses(all.size());
  long wrong = 0, unplanned = 0;
  std::vector<cookbook::Row> rows = {{"one flow", 1, [&] { cookbook::keep(work(job, everything)); }}};
  for (std::size_t s = 0; s < all.size(); ++s) {
    rows.emplace_back(std::string(all[s].name), 1, [&, s] {
      Run run = by_threads(*all[s].make(tasks, workers), job, workers);
      wrong += run.results != expected || !each_once(job, run.turns);
      if (all[s].is_static) {
        const std::vector<Turn> plan = play(*all[s].make(tasks, workers), job, workers, hand_over, false);
        unplanned += units_of_workers(job, run.turns, workers) != units_of_workers(job, plan, workers);
      }
      const double seconds = makespan(run.turns);
      const bool is_shortest = courses[s].turns.empty() || seconds < makespan(courses[s].turns);
      if (is_shortest) courses[s] = {all[s].name, workers, std::move(run.turns)};
      return seconds;
    });
  }
  const std::vector<cookbook::Timing> timings = cookbook::measure_in_turns(rows, rounds);
  println("\n4 mapping, measured: {} tasks, {} threads", tasks.size(), workers);
  checks.equal("runs that missed an item, did one twice or found something else", wrong, 0);
  checks.equal("static runs whose workers had other units than planned", unplanned, 0);
  if (!checks.passed()) return courses;

  for (const Course& course : courses) {
    println("{:<20} most of one worker {:.2f} x its perfect share", course.name,
            imbalance(units_of_workers(job, course.turns, workers)));
  }
  cookbook::Figures figures("the job", cookbook::cost("ms", 1e-3));
  const std::size_t cores = std::min<std::size_t>(workers, std::max(1U, std::thread::hardware_concurrency()));
  figures.percent_of("one flow, divided by the cores", "divided");
  figures.add("one flow, divided by the cores", timings.front(), static_cast<double>(cores));
  for (std::size_t i = 0; i < rows.size(); ++i) figures.add(rows[i].name, timings[i], 1);
  figures.print(checks);
  return courses;
}

/// The courses of all mappings on paper, with four workers.
std::vector<Course> courses_on_paper(const Job& job, long group) {
  std::vector<Course> courses;
  for (const Scheme& scheme : schemes()) {
    courses.push_back({scheme.name, 4, play(*scheme.make(tasks_of(job, group), 4), job, 4, hand_over, false)});
  }
  return courses;
}

}  // namespace

int main(int argc, char** argv) {
  long items = 2048, group = 32;
  std::size_t workers = std::clamp(std::thread::hardware_concurrency(), 2U, 8U);
  int rounds = 5;
  std::string out;
  cookbook::Options options("Design a parallel program in four steps");
  options.add("items", items, "items of the job", 64, 1'000'000);
  options.add("group", group, "items that are merged into one task", 1, 1'000'000);
  options.add("workers", workers, "threads that share the job", 1, 64);
  options.add("rounds", rounds, "measured runs of each mapping", 1, 1'000);
  options.add("out", out, "file for the picture of who did what when, SVG; none if not given");
  options.parse(argc, argv);

  const Job job = irregular_job(items, 150), paper = irregular_job(32'768, 0);
  const long total = units_of(job, {0, items});
  println("the job: {} items of {} to {} units, {} units in all", items, std::ranges::min(job.units),
          std::ranges::max(job.units), total);
  cookbook::Checks checks;
  decomposition(checks, job);
  assignment_on_paper(checks, paper);
  agglomeration(checks, paper, rounds);
  mapping_on_paper(checks, paper);
  search(checks, job);
  const std::vector<Course> measured = mapping(checks, job, group, workers, rounds);
  if (checks.passed() && !out.empty()) {
    draw_gantt(out, courses_on_paper(job, group), measured, items - items / 4);
  }
  return checks.exit_code();
}
