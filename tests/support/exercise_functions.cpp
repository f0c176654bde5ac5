// Linked with a learner's program that is compiled with -finstrument-functions: counts how often each function of the
// program is entered, and for a coroutine also how often it goes on. Writes a line "entered N" to the file that
// COOKBOOK_EXERCISE_RECORD names, with the number of the function that was entered most often, whenever this number has
// grown by 1000. (At the end of the process would be too late: a child may end by _exit.)

#include <atomic>
#include <cstdint>
#include <string>

#include "interposer.hpp"

namespace {

struct Entry {
  std::atomic<void*> function;
  std::atomic<long> times;
};

Entry entries[4096];  // more functions than a learner's program has; a full table would count no further ones

}  // namespace

extern "C" void __cyg_profile_func_enter(void* function, void*) {
  auto place = reinterpret_cast<std::uintptr_t>(function) / 16;
  for (int tries = 0; tries < 64; ++tries, ++place) {
    Entry& entry = entries[place % 4096];
    void* there = nullptr;
    if (!entry.function.compare_exchange_strong(there, function) && there != function) continue;
    const long times = ++entry.times;
    if (times % 1000 == 0) record("entered " + std::to_string(times));
    return;
  }
}

extern "C" void __cyg_profile_func_exit(void*, void*) {}
