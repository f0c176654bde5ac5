// Pitfall: two orders of locks that do not meet yet
//
// Two threads take two locks in opposite orders, as in deadlock_opposite_orders.cpp, but the second starts after the
// first has ended, so as it stands the program cannot deadlock. ThreadSanitizer notes in which order locks are taken
// while others are held, finds the cycle, and says where each thread has taken its second lock.
//
// Compile: g++ -std=c++20 -O1 -g -fsanitize=thread chapters/02_threads/deadlock/deadlock_inversion.cpp -o deadlock_inversion
// Run:     deadlock_inversion
// Symptom: exit 0, prints "B held both"
// Symptom under thread: prints "WARNING: ThreadSanitizer: lock-order-inversion (potential deadlock)"

#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

namespace {

std::mutex one, two;

void take(const char* name, std::mutex& first, std::mutex& second) {
  std::scoped_lock first_lock(first);
  std::scoped_lock second_lock(second);
  std::printf("%s held both\n", name);
}

}  // namespace

int main() {
  std::jthread(take, "A", std::ref(one), std::ref(two)).join();
  std::jthread(take, "B", std::ref(two), std::ref(one)).join();
}
