// Map in shared memory
//
// A map whose nodes lie in shared memory, as those of a std::map do not. Ten worker processes write a key each, and all
// of them add to one value at the same time. Then four workers use the map, one after the other: one makes a change,
// one throws within a change, one is killed while it reads, and one within a change. After each the parent reads the
// value.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/shared_map/shared_map.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_map
// Run:     shared_map [--workers N] [--changes N]

#include <atomic>
#include <csignal>
#include <cstdint>
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

/// Whether a value lies within an object, here one in shared memory.
template <typename Object>
bool lies_in(const Object& object, const long& value) {
  return reinterpret_cast<std::uintptr_t>(&value) - reinterpret_cast<std::uintptr_t>(&object) < sizeof object;
}

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
  cookbook::println("{:<27}{:<12}{}", name, end, value);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  int workers = 10, changes = 10'000;
  cookbook::Options options("Keep a map in memory that processes share");
  options.add("workers", workers, "processes that write into the map", 1, 64);
  options.add("changes", changes, "changes of one counter that each worker makes", 1, 1'000'000);
  options.parse(argc, argv);

  const Shared<std::map<long, long>> std_map;  // which only this process can use
  const Shared<SharedMap> map;
  for (long i = 0; i < workers; ++i) (*std_map)[i] = 2 * i;
  run_workers(workers, [&](int i) { map->set(i, 2 * i); });
  int in_std_map = 0, in_map = 0;
  for (long i = 0; i < workers; ++i) {
    in_std_map += lies_in(*std_map, std_map->at(i)) ? 1 : 0;
    map->look(i, [&](const long& value) { in_map += lies_in(*map, value) ? 1 : 0; });
  }
  cookbook::println("{:<27}{}", "map", "nodes in shared memory");
  cookbook::println("{:<27}{} of {}", "std::map", in_std_map, workers);
  cookbook::println("{:<27}{} of {}", "SharedMap", in_map, workers);

  const std::map<long, long> written = map->items();
  cookbook::println("{} workers write a key each: {}", workers, written);

  const Shared<std::atomic<int>> ready(0);
  run_workers(workers, [&](int) {
    ++*ready;
    while (*ready < workers) std::this_thread::yield();  // so that all change the value at the same time
    for (int i = 0; i < changes; ++i) map->change(counter, [](long& value) { ++value; });
  });
  const long counted = map->get(counter);
  cookbook::println("{} workers add 1 to one value, {} times each: {}", workers, changes, counted);

  map->set(counter, 10);
  cookbook::println("what a worker does         ends by     the next one reads");
  std::vector<std::string> values;
  values.push_back(value_after("adds 1", *map, [&] { map->change(counter, [](long& value) { ++value; }); }));
  values.push_back(value_after("adds 100, and throws", *map, [&] {
    map->change(counter, [](long& value) { value += 100, throw std::runtime_error("half-way"); });
  }));
  values.push_back(value_after("reads, and is killed", *map, [&] {  //
    map->look(counter, [](const long&) { raise(SIGKILL); });
  }));
  values.push_back(value_after("adds 1, and is killed", *map,
                               [&] { map->change(counter, [](long& value) { ++value, raise(SIGKILL); }); }));

  cookbook::Checks checks;
  checks.that("the same pairs as in one process", written == *std_map);
  checks.equal("changes that were lost", 1L * workers * changes - counted, 0L);
  checks.equal("the next one reads", values, {"11", "11", "11", "a process died within a change"});
  return checks.exit_code();
}
