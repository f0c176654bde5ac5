// Map in shared memory
//
// Ten worker processes write key i and value 2i into one map. The map lies in memory that all of them share, so an
// operation costs a lock and no message. All of them add to one value at the same time. Then five workers use the map,
// one after the other; three of them do not come to the end of what they do, and after each the parent reads the value.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/shared_map/shared_map.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_map
// Run:     shared_map [--workers N] [--changes N]

#include <atomic>
#include <csignal>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "shared_map.hpp"
#include "shared_memory.hpp"

namespace {

constexpr long counter = 1000;  // a key that all workers change

/// Starts so many processes, which do work(their number), and waits for all of them.
template <typename Work>
void run_workers(int workers, Work work) {
  std::vector<pid_t> processes;
  for (int i = 0; i < workers; ++i) processes.push_back(cookbook::start_child([&] { work(i); }));
  for (const pid_t process : processes) cookbook::exit_code_of(process);
}

/// The value of the counter, or why it cannot be read.
std::string read(SharedMap& map) {
  try {
    return std::to_string(map.get(counter));
  } catch (const std::exception& refused) {
    return refused.what();
  }
}

/// A worker does this in a process of its own. Prints how the process has ended, and what is read after that.
template <typename Work>
std::string value_after(const char* name, SharedMap& map, Work work) {
  const int code = cookbook::exit_code_of(cookbook::start_child([&] {
    try {
      work();
      return 0;
    } catch (const std::exception&) {
      return 1;
    }
  }));
  const std::string value = read(map);
  const char* const end = code == 0 ? "returns" : code == 1 ? "exception" : "killed";
  cookbook::println("{:<35}{:<12}{}", name, end, value);
  return value;
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
  std::map<long, long> results = map->items(), expected;
  for (long i = 0; i < workers; ++i) expected[i] = 2 * i;
  cookbook::println("Results: {}", results);

  const Shared<std::atomic<int>> ready(0);
  run_workers(workers, [&](int) {
    ++*ready;
    while (*ready < workers) std::this_thread::yield();  // so that all change the value at the same time
    for (int i = 0; i < changes; ++i) map->change(counter, [](long& value) { ++value; });
  });
  const long counted = map->get(counter);
  cookbook::println("{} workers add 1 to one value, {} times each: {}", workers, changes, counted);

  map->set(counter, 10);
  cookbook::println("what a worker does                 ends by     the next one reads");
  std::vector<std::string> values;
  values.push_back(value_after("adds 1", *map, [&] { map->change(counter, [](long& value) { ++value; }); }));
  values.push_back(value_after("adds 1, and throws", *map, [&] {
    map->change(counter, [](long& value) { ++value, throw std::runtime_error("half-way"); });
  }));
  values.push_back(value_after("adds 10,000 keys, too many", *map, [&] {
    for (long key = 2'000; key < 12'000; ++key) map->set(key, 1);
  }));
  values.push_back(value_after("reads, and is killed", *map, [&] {  //
    map->look(counter, [](const long&) { raise(SIGKILL); });
  }));
  values.push_back(value_after("adds 1, and is killed", *map,
                               [&] { map->change(counter, [](long& value) { ++value, raise(SIGKILL); }); }));

  cookbook::Checks checks;
  checks.that("the same pairs as in one process", results == expected);
  checks.equal("changes that were lost", 1L * workers * changes - counted, 0L);
  checks.equal("the next one reads", values, {"11", "11", "11", "11", "a process died within a change"});
  return checks.exit_code();
}
