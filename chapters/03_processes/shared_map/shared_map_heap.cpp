// Pitfall: a std::map in shared memory
//
// The std::map itself lies in shared memory, but its nodes come from the heap of the process that inserts them. The
// parent sees the right size and a pointer to the root, at an address where it has nothing or something else. A second
// child looks for the keys, and is usually killed by the system.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/shared_map/shared_map_heap.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_map_heap
// Run:     shared_map_heap
// Symptom: exit 1, prints "is found by no other process"

#include <map>

#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"

int main() {
  constexpr long keys = 100'000;  // so many that the heap of the first child grows
  const Shared<std::map<long, long>> map;
  cookbook::exit_code_of(cookbook::start_child([&] {
    for (long key = 0; key < keys; ++key) (*map)[key] = 2 * key;
  }));
  const int found = cookbook::exit_code_of(
      cookbook::start_child([&] { return map->contains(7) && map->contains(keys - 7) ? 0 : 1; }));
  cookbook::println("the map says that it has {} keys; looking for them ended with {}", map->size(), found);
  const bool lost = found != 0;
  if (lost) cookbook::println("what one process has inserted is found by no other process");
  _exit(lost ? 1 : 0);  // the destructor of the map would look for the nodes, too
}
