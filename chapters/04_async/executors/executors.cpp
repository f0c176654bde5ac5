// Executors
//
// Ten jobs, done in five ways: one after another, by a pool of processes, by a pool of threads that is made for the ten
// jobs or kept, and by oneTBB's threads. Only how the jobs are handed in differs. The empty jobs show what a pool
// costs, the short and the long ones from which length on it pays. The waiting ones need no core, so they gain by more
// workers than cores, if the pool has them: try --workers 5.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/executors/executors.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o executors
// Run:     executors [--workers N] [--steps N]

#include <sys/mman.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <future>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"

namespace asio = boost::asio;

namespace {

constexpr int jobs = 10;
constexpr std::chrono::milliseconds waiting_time(1);  // of a waiting job

using Results = std::array<long, jobs>;

/// What a job does: it counts, and then it waits, as for the answer of a server.
struct Work {
  long steps = 0;
  std::chrono::microseconds wait{0};
};

/// Returns the count times the item, the job's number from 1 on. The asm contains no instruction, but the compiler
/// cannot know that it does not change the count; without it, the compiler would replace the loop by its result. Not
/// inlined, so that each way runs the same machine code.
[[gnu::noinline]] long job(int item, Work work) {
  long counted = 0;
  while (counted < work.steps) {
    ++counted;
    asm volatile("" : "+r"(counted));
  }
  std::this_thread::sleep_for(work.wait);
  return counted * item;
}

Results one_after_another(int, Work work) {
  Results results;
  for (int i = 0; i < jobs; ++i) results[i] = job(i + 1, work);
  return results;
}

Results by_pool(asio::thread_pool& pool, Work work) {
  std::array<std::future<long>, jobs> futures;
  for (int i = 0; i < jobs; ++i) {
    futures[i] = asio::post(pool, std::packaged_task<long()>([=] { return job(i + 1, work); }));
  }
  Results results;
  for (int i = 0; i < jobs; ++i) results[i] = futures[i].get();  // waits; throws what the job has thrown
  return results;
}

Results by_threads(int workers, Work work) {
  asio::thread_pool pool(workers);
  return by_pool(pool, work);
}

Results by_kept_threads(int workers, Work work) {
  static asio::thread_pool pool(workers);  // made by the first call, and used by all calls
  return by_pool(pool, work);
}

/// oneTBB has no futures, but a parallel loop, which waits for all its jobs. The arena limits the number of its
/// threads.
Results by_tbb(int workers, Work work) {
  Results results;
  const int cores = tbb::info::default_concurrency();      // oneTBB has no more threads, and warns if one asks for more
  static tbb::task_arena arena(std::min(workers, cores));  // a new one would get its second thread later
  arena.execute([&] { tbb::parallel_for(0, jobs, [&](int i) { results[i] = job(i + 1, work); }); });
  return results;
}

/// What the processes of a pool share. Of all other memory each child process has a copy of its own.
struct Shared {
  static_assert(std::atomic<int>::is_always_lock_free, "a lock would not be shared by the processes");
  std::atomic<int> next_job = 0;
  Results results = {};
};

Results by_processes(int workers, Work work) {
  void* memory =
      check(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), "mmap");
  Shared& shared = *new (memory) Shared;  // constructs it in the shared memory
  std::vector<pid_t> children;
  for (int i = 0; i < workers; ++i) {
    children.push_back(cookbook::start_child([&] {  // by fork()
      for (int next; (next = shared.next_job++) < jobs;) shared.results[next] = job(next + 1, work);
    }));
  }
  bool failed = false;  // a process, perhaps in the middle of a job
  for (const pid_t child : children) failed |= cookbook::exit_code_of(child) != 0;
  const Results results = failed ? Results{} : shared.results;
  check(munmap(memory, sizeof(Shared)), "munmap");
  return results;
}

/// One kind of the ten jobs, and how often each way does them.
struct Kind {
  Work work;
  int runs;
};

/// A way to have the ten jobs done, and the best of its times with each kind of jobs.
struct Form {
  std::string name;
  Results (*run)(int workers, Work work);
  std::array<double, 4> best_us = {};
};

/// The time of the fastest run. Adds to `wrong` how many runs had a wrong result.
double best_us(const Form& form, int workers, const Kind& kind, int& wrong) {
  double best = 1e9;
  for (int run = 0; run < kind.runs; ++run) {
    const cookbook::Stopwatch watch;
    const Results results = form.run(workers, kind.work);
    best = std::min(best, watch.seconds() * 1e6);
    for (int i = 0; i < jobs; ++i) wrong += results[i] != (i + 1) * kind.work.steps;
  }
  return best;
}

void print_row(const Form& form, const Form& base) {
  std::string row = fmt::format("{:<26}{:6.0f} us", form.name, form.best_us[0]);
  for (std::size_t k = 1; k < form.best_us.size(); ++k) {
    row += fmt::format("{:8.0f} us{:6.2f} x", form.best_us[k], base.best_us[k] / form.best_us[k]);
  }
  cookbook::println("{}", row);
}

}  // namespace

int main(int argc, char** argv) {
  int workers = 2;
  long steps = 10'000'000;
  cookbook::Options options("Ten jobs, done by one thread and by pools of workers");
  options.add("workers", workers, "threads or processes of a pool", 1, 64);
  options.add("steps", steps, "steps that each long job counts; a short job counts a hundredth of them", 0,
              1'000'000'000);
  options.parse(argc, argv);

  std::vector<Form> forms = {{"one after another", one_after_another},
                             // Before any thread exists, since fork() copies only the thread that calls it.
                             {fmt::format("{} processes", workers), by_processes},
                             {fmt::format("{} threads", workers), by_threads},
                             {fmt::format("{} threads, kept", workers), by_kept_threads},
                             {fmt::format("oneTBB, {} threads at most", workers), by_tbb}};
  const std::array<Kind, 4> kinds = {{{{}, 100}, {{steps / 100}, 100}, {{steps}, 10}, {{0, waiting_time}, 10}}};
  int wrong = 0;
  for (Form& form : forms) {
    for (std::size_t k = 0; k < kinds.size(); ++k) form.best_us[k] = best_us(form, workers, kinds[k], wrong);
  }

  cookbook::println("                          ten empty     ten short jobs      ten long jobs   ten waiting jobs");
  for (const Form& form : forms) print_row(form, forms[0]);
  cookbook::Checks checks;
  checks.equal("wrong results in all runs", wrong, 0);
  return checks.exit_code();
}
