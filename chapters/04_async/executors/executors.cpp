// Executors
//
// Ten jobs that only count, done three ways: one after another, by a pool of five threads, and by a pool of five
// processes. A pool is a queue of jobs and a few workers that are made once and take one job after another; handing a
// job in gives a future, which gets the result or the exception. Python's threads gain nothing here, since its
// interpreter lock lets one of them count at a time; C++ has no such lock. At the end: what one empty task costs in
// five executors, one of them the recipe's own (small_pool.hpp).
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/executors/executors.cpp common/cookbook/*.cpp -lfmt -ltbb -pthread -o executors
// Run:     executors [--workers N] [--steps N] [--tasks N]

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <csignal>
#include <future>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"
#include "empty_tasks.hpp"
#include "small_pool.hpp"

namespace asio = boost::asio;

namespace {

constexpr int jobs = 10;

struct Done {
  int item;
  long result;
  pid_t worker;     ///< the thread that did it
  double finished;  ///< when, in seconds of the clock that all processes share
};

/// Where the first jobs of a run wait for one another, so that each of them needs a worker of its own.
class Meeting {
 public:
  /// Of so many jobs; none has to wait if it is 0.
  explicit Meeting(std::size_t size) : size_(size) {}

  /// Returns when all have come; after 10 seconds in any case, since a pool may have fewer workers than it should.
  void attend() {
    ++attending_;
    const cookbook::Stopwatch watch;
    while (attending_ < size_ && watch.seconds() < 10) std::this_thread::yield();
  }

 private:
  std::size_t size_;
  std::atomic<std::size_t> attending_ = 0;
};

/// Counts to `steps` one by one, then multiplies by the item. The asm does nothing, but the compiler cannot know that,
/// so it cannot replace the loop by its result.
Done job(int item, long steps) {
  long count = 0;
  while (count < steps) {
    ++count;
    asm volatile("" : "+r"(count));
  }
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return {item, count * item, gettid(), std::chrono::duration<double>(now).count()};
}

std::vector<Done> one_after_another(long steps) {
  std::vector<Done> done;
  for (int item = 1; item <= jobs; ++item) done.push_back(job(item, steps));
  return done;
}

std::vector<Done> by_threads(std::size_t workers, long steps, std::size_t meet) {
  Meeting meeting(meet);
  asio::thread_pool pool(workers);
  std::vector<std::future<Done>> futures;
  for (int item = 1; item <= jobs; ++item) {
    futures.push_back(asio::post(pool, std::packaged_task<Done()>([=, &meeting] {
                                   meeting.attend();
                                   return job(item, steps);
                                 })));
  }
  std::vector<Done> done;
  for (std::future<Done>& future : futures) done.push_back(future.get());  // waits, and throws what the job has thrown
  return done;
}

/// Memory that a process and its children share, unlike all other memory.
struct Board {
  Meeting meeting;
  std::atomic<int> next = 1;  ///< the first item that nobody has taken
  Done done[jobs] = {};
};

std::vector<Done> by_processes(std::size_t workers, long steps, std::size_t meet) {
  void* memory = check(mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), "mmap");
  Board& board = *new (memory) Board{Meeting(meet)};

  std::vector<pid_t> children;
  for (std::size_t i = 0; i < workers; ++i) {
    const pid_t child = check(fork(), "fork");
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // it ends with its parent
    for (int item; (item = board.next++) <= jobs;) {
      board.meeting.attend();
      board.done[item - 1] = job(item, steps);
    }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    check(waitpid(child, &status, 0), "waitpid");
    if (status != 0) throw std::runtime_error("a worker process has failed");
  }
  std::vector<Done> done(board.done, board.done + jobs);
  munmap(memory, sizeof(Board));
  return done;
}

/// Runs one of the three ways, prints the jobs in the order in which they ended, and checks them: all, each once, by as
/// many workers as there are, or as there are jobs.
template <typename Way>
void phase(std::string_view name, std::size_t workers, long steps, Way way, cookbook::Checks& checks) {
  const cookbook::Stopwatch watch;
  std::vector<Done> done = way();
  const double seconds = watch.seconds();
  std::sort(done.begin(), done.end(), [](const Done& a, const Done& b) { return a.finished < b.finished; });
  for (const Done& each : done) cookbook::println("item {} result {}", each.item, each.result);
  cookbook::println("{} execution in {:.3f} s", name, seconds);

  std::vector<long> results;
  std::set<pid_t> ids;
  for (const Done& each : done) {
    results.push_back(each.result);
    ids.insert(each.worker);
  }
  if (workers > 1) std::sort(results.begin(), results.end());  // one worker does them in order
  std::vector<long> expected(jobs);
  for (int item = 1; item <= jobs; ++item) expected[static_cast<std::size_t>(item - 1)] = item * steps;
  checks.equal("results", results, expected);
  checks.equal("workers that took part", ids.size(), std::min<std::size_t>(workers, jobs));
}

/// A job that fails throws out of get(); the worker that ran it goes on to the next job.
template <typename Submit>
void fail_and_go_on(const std::string& pool, Submit submit, cookbook::Checks& checks) {
  std::future<int> fails = submit([]() -> int { throw std::runtime_error("no such number"); });
  std::future<int> next = submit([] { return 42; });
  std::string error = "none";
  try {
    fails.get();
  } catch (const std::runtime_error& thrown) {
    error = thrown.what();
  }
  checks.equal(pool + ": exception in the future", error, "no such number");
  checks.equal(pool + ": the only worker's next job", next.get(), 42);
}

std::string zero_workers() {
  try {
    SmallPool pool(0);
  } catch (const std::invalid_argument& refused) {
    return refused.what();
  }
  return "accepted";
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t workers = 5;
  long steps = 10'000'000;
  int tasks = 100'000;
  cookbook::Options options("Ten jobs one after another, by a pool of threads, by a pool of processes");
  options.add("workers", workers, "threads or processes of a pool", 1, 256);
  options.add("steps", steps, "steps that each job counts", 0, 10'000'000'000);
  options.add("tasks", tasks, "empty tasks to measure with", 1, 10'000'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  const std::size_t meet = std::min<std::size_t>(workers, jobs);
  phase(
      "Sequential", 1, steps, [&] { return one_after_another(steps); }, checks);
  phase(
      "Thread pool", workers, steps, [&] { return by_threads(workers, steps, meet); }, checks);
  phase(
      "Process pool", workers, steps, [&] { return by_processes(workers, steps, meet); }, checks);

  {
    asio::thread_pool pool(1);
    fail_and_go_on(
        "asio::thread_pool", [&](auto function) { return asio::post(pool, std::packaged_task<int()>(function)); },
        checks);
    SmallPool small(1);
    fail_and_go_on(
        "SmallPool", [&](auto function) { return small.submit(function); }, checks);
  }
  checks.equal("a pool without workers", zero_workers(), "a pool needs at least one worker");

  cookbook::Figures figures("jobs done", cookbook::rate("/s", 1));
  figures.times("one after another", "one by one");
  figures.measure({{"one after another", jobs, [&] { cookbook::keep(one_after_another(steps)); }},
                   {fmt::format("{} threads", workers), jobs, [&] { by_threads(workers, steps, 0); }},
                   {fmt::format("{} processes", workers), jobs, [&] { by_processes(workers, steps, 0); }}},
                  5);
  figures.print(checks);
  empty_tasks::measure(tasks, checks);
  return checks.exit_code();
}
