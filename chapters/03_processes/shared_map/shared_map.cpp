// Map in shared memory
//
// Ten worker processes write key i and value 2i into one map. The map lies in memory that all of them share, so an
// operation costs a lock instead of a message. Its nodes have to lie there as well, and it must be known what becomes
// of it when a process is killed: one that only read harms nobody, after one that changed it every call is refused.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/shared_map/shared_map.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_map
// Run:     shared_map [--workers N] [--changes N]

#include <csignal>
#include <exception>
#include <map>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "shared_map.hpp"
#include "shared_memory.hpp"

namespace {

/// Starts so many processes, which do work(their number), and waits for all of them.
template <typename Work>
void run_workers(int workers, Work work) {
  std::vector<pid_t> processes;
  for (int i = 0; i < workers; ++i) processes.push_back(cookbook::start_child([&] { work(i); }));
  for (const pid_t process : processes) cookbook::exit_code_of(process);
}

template <typename Work>
bool is_refused(Work work) {
  try {
    work();
    return false;
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int workers = 10, changes = 10'000;
  cookbook::Options options("Keep a map in memory that processes share");
  options.add("workers", workers, "processes that write into the map", 1, 64);
  options.add("changes", changes, "changes of one counter that each worker makes", 1, 1'000'000);
  options.parse(argc, argv);

  const Shared<SharedMap> map;
  run_workers(workers, [&](int i) { map->set(i, 2 * i); });
  const std::map<long, long> results = map->items();
  cookbook::println("Results: {}", results);
  std::map<long, long> expected;
  for (long i = 0; i < workers; ++i) expected[i] = 2 * i;
  cookbook::Checks checks;
  checks.that("the same pairs as in one process", results == expected);

  constexpr long counter = 1000;  // a key that all workers change
  run_workers(workers, [&](int) {
    for (int i = 0; i < changes; ++i) map->change(counter, [](long& value) { ++value; });
  });
  checks.equal(fmt::format("{} changes of one value", workers * changes), map->get(counter), 1L * workers * changes);

  run_workers(1, [&](int) { map->look(counter, [](const long&) { raise(SIGKILL); }); });
  checks.that("the map is there after a reader was killed with the lock", map->items().size() == results.size() + 1);
  run_workers(1, [&](int) { map->change(counter, [](long&) { raise(SIGKILL); }); });
  checks.that("a call is refused after a worker was killed within a change", is_refused([&] { map->get(counter); }));

  const Shared<SharedMap> full;
  const auto fill = [&] {
    for (long key = 0; key < 10'000; ++key) full->set(key, 2 * key);
  };
  checks.that("a key too many is refused, and the others stay", is_refused(fill) && full->get(9) == 18);
  return checks.exit_code();
}
