// Pitfall: two locks in opposite orders
//
// Thread A holds lock 1 and waits for lock 2, thread B holds 2 and waits for 1. A latch makes sure that both hold their
// first lock before either asks for its second, so this program hangs in every run; without the latch it would hang
// in a few runs only. While it hangs it uses no processor time.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/deadlock/deadlock_opposite_orders.cpp -pthread -o deadlock_opposite_orders
// Run:     deadlock_opposite_orders, then Ctrl-C
// Symptom: hangs

#include <cstdio>
#include <functional>
#include <latch>
#include <mutex>
#include <thread>

namespace {

std::mutex one, two;
std::latch both_are_here(2);
int held_both = 0;  // a thread changes it only while it holds both

void take(const char* name, std::mutex& first, std::mutex& second) {
  std::scoped_lock first_lock(first);
  both_are_here.arrive_and_wait();
  std::printf("%s wants its second lock\n", name);
  std::fflush(stdout);
  std::scoped_lock second_lock(second);  // wrong: the other thread holds it, and waits for the one held here
  std::printf("%s holds both\n", name);
  ++held_both;
}

}  // namespace

int main() {
  {
    std::jthread a(take, "A", std::ref(one), std::ref(two));
    std::jthread b(take, "B", std::ref(two), std::ref(one));
  }
  std::printf("%d threads held both\n", held_both);
}
