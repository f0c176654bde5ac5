// Pitfall: a ring for one producer is used by two
//
// With one producer and one consumer a ring needs no tickets: only the producer writes `puts_`, and only the consumer
// writes `gets_`. Here two producers use such a ring. Both may read the same number in `puts_`, write to the same slot,
// and set `puts_` to the same next number: one of the two items is lost. A producer that is interrupted after it has
// read `puts_` sets it back later, and all that the other one has put meanwhile is lost. No call fails.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/ring_queue/ring_queue_two_producers.cpp -pthread -o ring_queue_two_producers
// Run:     ring_queue_two_producers
// Symptom: exit 1, prints "items were lost"
// Symptom under thread: prints "data race"

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

class OneToOneRing {
 public:
  explicit OneToOneRing(std::size_t capacity) : slots_(capacity) {}

  bool try_put(int item) {
    const std::size_t n = puts_;
    if (n - gets_ == slots_.size()) return false;  // full
    slots_[n % slots_.size()] = item;
    puts_ = n + 1;  // from now on the consumer sees the item
    return true;
  }

  std::optional<int> try_get() {
    const std::size_t n = gets_;
    if (n == puts_) return std::nullopt;  // empty
    const int item = slots_[n % slots_.size()];
    gets_ = n + 1;  // from now on the producer may use the slot again
    return item;
  }

 private:
  std::vector<int> slots_;
  std::atomic<std::size_t> puts_ = 0, gets_ = 0;
};

int main() {
  constexpr int items = 4'000'000;
  OneToOneRing ring(2 * items);
  std::latch start(2);
  const auto put_all = [&] {
    start.arrive_and_wait();
    for (int i = 0; i < items; ++i) ring.try_put(i);  // never full: it has room for all
  };
  { std::jthread one(put_all), two(put_all); }  // the destructors wait for both

  int taken = 0;
  while (ring.try_get()) ++taken;
  std::printf("%d items put, %d taken\n", 2 * items, taken);
  if (taken == 2 * items) return 0;
  std::puts("items were lost");
  return 1;
}
