// Pitfall: two locks in opposite orders
//
// Thread A holds lock 1 and waits for lock 2, thread B holds 2 and waits for 1. A latch makes sure that both hold their
// first lock before either asks for its second, so this program hangs in every run; without the latch it would hang
// only now and then. While it hangs it uses no processor time.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/deadlock/deadlock_deadlock.cpp -pthread -o deadlock_deadlock
// Run:     deadlock_deadlock, then Ctrl-C
// Symptom: hangs

#include <cstdio>
#include <functional>
#include <latch>
#include <mutex>
#include <thread>

namespace {

std::mutex one, two;
std::latch both_hold_one(2);

void take(const char* name, std::mutex& first, std::mutex& second) {
  std::scoped_lock first_lock(first);
  both_hold_one.arrive_and_wait();
  std::printf("%s holds its first lock and waits for its second\n", name);
  std::fflush(stdout);
  std::scoped_lock second_lock(second);  // the other thread holds it, and waits for the one held here
  std::printf("%s holds both\n", name);  // never printed
}

}  // namespace

int main() {
  std::jthread a(take, "A", std::ref(one), std::ref(two));
  std::jthread b(take, "B", std::ref(two), std::ref(one));
}
