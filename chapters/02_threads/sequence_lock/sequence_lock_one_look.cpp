// Pitfall: a reader that looks at the sequence number only once
//
// The reader waits until the number is even, so that the writer is not at work, and then copies the two values. But the
// writer may begin while the reader copies. The reader has to look at the number again when it has its copy: if the
// number has changed, the copy may be half old and half new.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/sequence_lock/sequence_lock_one_look.cpp -pthread -o sequence_lock_one_look
// Run:     sequence_lock_one_look
// Symptom: exit 1, prints "a reading mixed two changes"

#include <atomic>
#include <cstdio>
#include <thread>

namespace {

std::atomic<long> sequence = 0, price = 0, twice_the_price = 0;
std::atomic<bool> mixed = false, done = false;

// The system may take the core away at any time. Here that happens where it does harm.
void lose_core() { std::this_thread::yield(); }

void write_all() {
  for (long i = 1; !done; ++i) {
    sequence = sequence + 1;  // odd: the writer is at work
    price = i;
    twice_the_price = 2 * i;
    sequence = sequence + 1;  // even again
    for (int rest = 0; rest < 10; ++rest) lose_core();
  }
}

void read_all() {
  for (int i = 0; (i < 5'000 || price < 500) && !mixed; ++i) {
    long one, two;
    while (sequence % 2 != 0) lose_core();
    one = price;
    lose_core();
    two = twice_the_price;  // wrong: a look at the number is missing after this
    if (two != 2 * one) mixed = true;
  }
  done = true;
}

}  // namespace

int main() {
  { std::jthread writer(write_all), reader(read_all); }
  std::puts(mixed ? "a reading mixed two changes" : "no reading mixed two changes");
  return mixed ? 1 : 0;
}
