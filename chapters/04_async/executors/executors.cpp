// Executors
//
// Ten jobs that only count, done in five ways: one after another, by a pool of processes, by a pool of threads that is
// made for the ten jobs or kept, and by oneTBB's threads. The job is the same function each time; only how it is handed
// in differs. With two free cores or more, each pool is faster than one thread if the jobs are long. Whether it is
// faster with short ones depends on what the pool itself costs, which the column of the empty jobs shows.
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
#include <future>
#include <new>
#include <string>
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

using Results = std::array<long, jobs>;

/// Counts to `steps` one by one, and multiplies by the item, the job's number from 1 on. The asm contains no
/// instruction, but the compiler cannot know that it does not change the count; without it, the compiler would replace
/// the loop by its result. Not inlined, so that each way runs the same machine code.
[[gnu::noinline]] long count(int item, long steps) {
  long counted = 0;
  while (counted < steps) {
    ++counted;
    asm volatile("" : "+r"(counted));
  }
  return counted * item;
}

Results one_after_another(int, long steps) {
  Results results;
  for (int i = 0; i < jobs; ++i) results[i] = count(i + 1, steps);
  return results;
}

Results by_pool(asio::thread_pool& pool, long steps) {
  std::array<std::future<long>, jobs> futures;
  for (int i = 0; i < jobs; ++i) {
    futures[i] = asio::post(pool, std::packaged_task<long()>([=] { return count(i + 1, steps); }));
  }
  Results results;
  for (int i = 0; i < jobs; ++i) results[i] = futures[i].get();  // waits; throws what the job has thrown
  return results;
}

Results by_threads(int workers, long steps) {
  asio::thread_pool pool(workers);
  return by_pool(pool, steps);
}

Results by_kept_threads(int workers, long steps) {
  static asio::thread_pool pool(workers);  // made by the first call, and used by all calls
  return by_pool(pool, steps);
}

/// oneTBB has no futures, but a parallel loop, which waits for all its jobs. The arena limits the number of its
/// threads.
Results by_tbb(int workers, long steps) {
  Results results;
  const int cores = tbb::info::default_concurrency();      // oneTBB has no more threads, and warns if one asks for more
  static tbb::task_arena arena(std::min(workers, cores));  // a new one would get its second thread later
  arena.execute([&] { tbb::parallel_for(0, jobs, [&](int i) { results[i] = count(i + 1, steps); }); });
  return results;
}

/// What the processes of a pool share. Of all other memory each child process has a copy of its own.
struct Shared {
  static_assert(std::atomic<int>::is_always_lock_free, "a lock would not be shared by the processes");
  std::atomic<int> next_job = 0;
  Results results = {};
};

Results by_processes(int workers, long steps) {
  void* memory =
      check(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), "mmap");
  Shared& shared = *new (memory) Shared;  // constructs it in the shared memory
  std::vector<pid_t> children;
  for (int i = 0; i < workers; ++i) {
    children.push_back(cookbook::start_child([&] {  // by fork()
      for (int job; (job = shared.next_job++) < jobs;) shared.results[job] = count(job + 1, steps);
    }));
  }
  bool failed = false;  // a process, perhaps in the middle of a job
  for (const pid_t child : children) failed |= cookbook::exit_code_of(child) != 0;
  const Results results = failed ? Results{} : shared.results;
  check(munmap(memory, sizeof(Shared)), "munmap");
  return results;
}

/// A way to have the ten jobs done, with its times for each number of steps per job, the best of several runs.
struct Form {
  std::string name;
  Results (*run)(int workers, long steps);
  Results results = {};
  static constexpr int runs[] = {100, 100, 10};  // of the empty, the short and the long jobs
  std::array<double, 3> best_us = {1e9, 1e9, 1e9};

  void measure(int workers, const std::array<long, 3>& steps) {
    for (std::size_t k = 0; k < steps.size(); ++k) {
      for (int i = 0; i < runs[k]; ++i) {
        const cookbook::Stopwatch watch;
        results = run(workers, steps[k]);
        best_us[k] = std::min(best_us[k], watch.seconds() * 1e6);
      }
    }
  }
};

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
  for (Form& form : forms) form.measure(workers, {0, steps / 100, steps});

  Results expected;
  for (int i = 0; i < jobs; ++i) expected[i] = (i + 1) * steps;
  int different = 0;
  const auto [empty, brief, full] = forms[0].best_us;
  cookbook::println("                           ten empty jobs      ten short jobs       ten long jobs");
  cookbook::println("{:<26}{:12.0f} us{:9.0f} us{:18.0f} us", forms[0].name, empty, brief, full);
  for (const Form& form : forms) {
    if (&form != &forms[0]) {
      cookbook::println("{:<26}{:12.0f} us{:9.0f} us{:6.2f} x{:10.0f} us{:6.2f} x", form.name, form.best_us[0],
                        form.best_us[1], brief / form.best_us[1], form.best_us[2], full / form.best_us[2]);
    }
    different += form.results != expected;
  }
  cookbook::Checks checks;
  checks.equal("results of the long jobs", std::vector(forms[2].results.begin(), forms[2].results.end()),
               std::vector(expected.begin(), expected.end()));
  checks.equal("ways with other results", different, 0);
  return checks.exit_code();
}
