// Process pool
//
// Four worker processes square the numbers from 0 to 99, handed out in chunks through shared memory; the results come
// in the order of the numbers, whoever computed them. apply and map wait for the results, apply_async and map_async
// return at once. A task that throws hands its error to the caller. A worker that is killed is replaced, and its task
// is done by another: none is lost, none gives its result twice. The pitfall, process_pool_lost.cpp, waits for a
// lost task.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_pool/process_pool.cpp common/cookbook/*.cpp -lfmt -pthread -o process_pool
// Run:     process_pool [--processes N] [--items N] [--measure N]

#include <algorithm>
#include <chrono>
#include <future>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "deaths.hpp"
#include "lab.hpp"   // the tasks
#include "pool.hpp"  // ProcessPool
#include "pool_speed.hpp"
#include "shared_memory.hpp"

namespace {

/// "[0, 1, 4, 9, 16, ..., 9604, 9801]"
std::string shortened(const std::vector<long>& list) {
  if (list.size() <= 20) return fmt::format("{}", list);
  return fmt::format("[{}, ..., {}]", fmt::join(list.begin(), list.begin() + 5, ", "),
                     fmt::join(list.end() - 2, list.end(), ", "));
}

void four_methods(ProcessPool& pool, long items, cookbook::Checks& checks) {
  const std::vector<long> all = numbers_up_to(items), numbers = numbers_up_to(std::min(items, 100L));
  const std::vector<long> all_squares = squares_in_one_process(all), expected = squares_in_one_process(numbers);

  const std::vector<long> squares = pool.map(square, all);
  cookbook::println("Pool      : {}", shortened(squares));
  checks.that("map: the same as in one process", squares == all_squares);
  checks.equal("map: sum", std::accumulate(squares.begin(), squares.end(), 0L),
               std::accumulate(all_squares.begin(), all_squares.end(), 0L));
  checks.that("map: in order, though later tasks often end earlier",
              pool.map(square_some_time, numbers, 1) == expected);
  checks.equal("chunks of 100 tasks for 4 workers, each of", ProcessPool::chunk_size(100, 4), 7U);  // the last has 2

  std::vector<long> one_by_one;
  for (const long number : numbers) one_by_one.push_back(pool.apply(square, number));
  checks.that("apply, one by one: the same", one_by_one == expected);

  // No task can end before the gate is open, and it is opened when the call has returned.
  lab->gate.clear();
  std::vector<std::future<long>> futures;
  for (const long number : numbers) futures.push_back(pool.apply_async(square_at_the_gate, number));
  lab->gate.set();
  std::vector<long> later;
  for (std::future<long>& future : futures) later.push_back(future.get());
  checks.that("apply_async: back before the task is done, then the same", later == expected);

  lab->gate.clear();
  auto future = pool.map_async(square_at_the_gate, numbers);
  lab->gate.set();
  checks.that("map_async: back before a task is done, then the same", future.get() == expected);
}

/// One thread calls all callbacks, so a slow one holds up those behind it.
void call_back(ProcessPool& pool, cookbook::Checks& checks) {
  std::vector<long> squares;  // no lock: whoever gets a future's value sees what its callback did
  std::vector<std::thread::id> callers;
  bool inside = false, overlapped = false;
  const auto slow = [&](long square_of_it) {
    overlapped |= std::exchange(inside, true);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    squares.push_back(square_of_it);
    callers.push_back(std::this_thread::get_id());
    inside = false;
  };
  std::vector<std::future<long>> futures;
  for (long i = 0; i < 5; ++i) futures.push_back(pool.apply_async(square, i, slow));
  for (std::future<long>& future : futures) future.get();
  std::sort(squares.begin(), squares.end());
  checks.equal("callbacks: results", squares, {0, 1, 4, 9, 16});
  checks.that(
      "callbacks: by one thread, not the caller's, never two at once",
      !overlapped && std::set(callers.begin(), callers.end()).size() == 1 && callers[0] != std::this_thread::get_id());

  int called = 0;
  auto failing = pool.map_async(square_but_not_of_42, numbers_up_to(100), 0, [&](const auto&) { ++called; });
  checks.equal("a task that throws", error_of([&] { failing.get(); }), "task 42: 42 has no square");
  checks.equal("a task that throws: callbacks called", called, 0);
  checks.equal("a task that throws: the next one", pool.apply(square, 9), 81L);
}

void count_workers(ProcessPool& pool, int processes, cookbook::Checks& checks) {
  const std::vector<pid_t> ids = pool.map(worker_id, numbers_up_to(100), 1);
  const std::set<pid_t> workers(ids.begin(), ids.end());
  checks.within("processes that worked", static_cast<int>(workers.size()), 1, processes);
  checks.that("processes that worked: the caller is none of them", !workers.contains(getpid()));
}

}  // namespace

int main(int argc, char** argv) {
  int processes = 4;
  long items = 100, measure = 20'000;
  cookbook::Options options("Hand tasks to a pool of processes");
  options.add("processes", processes, "workers", 1, Board::max_workers);
  options.add("items", items, "numbers to square", 0, 1'000'000);
  options.add("measure", measure, "tasks to measure with; 0 measures nothing", 0, 10'000'000);
  options.parse(argc, argv);

  const Shared<Lab> shared;
  lab = &*shared;
  ProcessPool pool(processes);  // before anything large is made

  cookbook::Checks checks;
  four_methods(pool, items, checks);
  call_back(pool, checks);
  count_workers(pool, processes, checks);
  lose_workers(pool, checks);
  lose_the_supervisor(checks);
  if (measure > 0) measure_tasks(pool, measure, checks);

  checks.equal("join before close", error_of([&] { pool.join(); }), "join() of a pool that is not closed");
  auto last = pool.map_async(square, numbers_up_to(10));
  pool.close();
  checks.equal("a task after close", error_of([&] { pool.apply(square, 1); }), "the pool is closed");
  pool.join();
  checks.equal("tasks from before it", last.get(), squares_in_one_process(numbers_up_to(10)));
  checks.that("after join no process of the pool is left", waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD);
  return checks.exit_code();
}
