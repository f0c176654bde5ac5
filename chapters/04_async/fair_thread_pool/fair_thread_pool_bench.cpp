// Fair thread pool, measured: the time per task, with one thread that hands in tasks and with four
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/04_async chapters/04_async/fair_thread_pool/fair_thread_pool_bench.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o fair_thread_pool_bench
// Run:     fair_thread_pool_bench [--workers N] [--tasks N] [--rounds N]

#include <functional>
#include <thread>
#include <vector>

#include "fair_thread_pool.hpp"
#include "pool_bench.hpp"

namespace {

/// A job: `callers` threads hand in `tasks` tasks in all, each of which computes for `us` microseconds.
struct Job {
  int workers, callers, tasks, us;
};

void compute_for(int us) {
  const cookbook::Stopwatch watch;
  while (watch.seconds() < us * 1e-6) continue;
}

/// Calls post(task) for all tasks, from as many threads as the job has callers, and waits until all have run. Returns
/// the time.
double seconds_for(const Job& job, const std::function<void(std::function<void()>)>& post, long& wrong) {
  Count done;
  const auto hand_in_part = [&] {
    for (int i = 0; i < job.tasks / job.callers; ++i) {
      post([&done, us = job.us] {
        if (us > 0) compute_for(us);
        done.one();
      });
    }
  };
  const cookbook::Stopwatch watch;
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < job.callers; ++i) others.emplace_back(hand_in_part);
    hand_in_part();
  }
  while (done.total() < job.tasks) std::this_thread::sleep_for(std::chrono::microseconds(20));
  const double seconds = watch.seconds();
  wrong += done.total() != job.tasks;
  return seconds;
}

/// The threads of the pool exist before the time begins, as those of oneTBB do.
double by_pool(const Job& job, Wake wake, int queues, long& wrong) {
  FairThreadPool pool(job.workers, wake, queues);
  while (pool.sleeping() < job.workers) std::this_thread::yield();
  return seconds_for(
      job, [&](std::function<void()> task) { pool.post(std::move(task)); }, wrong);
}

double one_woken_per_task(const Job& job, long& wrong) { return by_pool(job, Wake::one_per_task, 0, wrong); }
double one_queue(const Job& job, long& wrong) { return by_pool(job, Wake::few, 1, wrong); }
double few_woken(const Job& job, long& wrong) { return by_pool(job, Wake::few, 0, wrong); }

double by_arena(const Job& job, long& wrong) {
  tbb::task_arena arena(job.workers, 0);
  tbb::task_group group;
  const double seconds = seconds_for(
      job, [&](std::function<void()> task) { arena.enqueue(group.defer(std::move(task))); }, wrong);
  arena.execute([&] { group.wait(); });
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  int workers = cookbook::allowed_processors(), tasks = 20'000, rounds = 11;
  cookbook::Options options("What a task costs a pool, with tasks of three lengths, and one or four callers");
  options.add("workers", workers, "threads of each pool", 1, 64);
  options.add("tasks", tasks, "tasks that a run hands in", 100, 10'000'000);
  options.add("rounds", rounds, "measured runs of each pool", 1, 1'000);
  options.parse(argc, argv);
  tasks -= tasks % 4;  // the same number for each of four callers
  const tbb::global_control threads_of_tbb(tbb::global_control::max_allowed_parallelism, workers + 1);

  long wrong = 0;
  std::vector<cookbook::Figures> tables;
  for (const int callers : {1, 4}) {
    for (const int us : {0, 1, 10}) {
      const Job job = {workers, callers, tasks, us};
      const auto row = [&](const char* name, double (*run)(const Job&, long&)) {
        return cookbook::Benchmark(name, tasks, [&wrong, job, run] {
          // The threads of the row before may still look for work; without this pause they would take time from this.
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          return run(job, wrong);
        });
      };
      cookbook::Figures& figures = tables.emplace_back(
          fmt::format("one task of {} us, {} workers, {} callers", us, workers, callers), cookbook::cost("ns", 1e-9));
      figures.speedup_over("tbb::task_arena::enqueue", "oneTBB");
      figures.measure(
          {row("one woken per task, many queues", one_woken_per_task), row("few woken, one queue", one_queue),
           row("few woken, many queues", few_woken), row("tbb::task_arena::enqueue", by_arena)},
          rounds);
    }
  }
  cookbook::Checks checks;
  checks.equal("runs in which a task was lost or ran twice", wrong, 0L);
  for (const cookbook::Figures& table : tables) table.print(checks);
  return checks.exit_code();
}
