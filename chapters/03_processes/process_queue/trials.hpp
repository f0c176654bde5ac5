/// Queue and stream under stress: several producers and consumers, blocks of any length, and processes that are killed.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "child.hpp"
#include "common.hpp"
#include "cookbook/checks.hpp"
#include "shared_memory.hpp"
#include "shared_queue.hpp"
#include "stream.hpp"

/// Four producers and four consumers; the last item goes from consumer to consumer.
inline void share_the_queue(int items, cookbook::Checks& checks) {
  constexpr int parties = 4;
  struct Board {
    SharedQueue<int, 8> queue;
    std::atomic<int> times[parties * 1000] = {};
  };
  const Shared<Board> board;
  std::vector<pid_t> producers, consumers;
  for (int i = 0; i < parties; ++i) {
    consumers.push_back(start_child([&] {
      int item = 0;
      while ((item = board->queue.get().value_or(no_more)) != no_more) ++board->times[item];
      board->queue.put(no_more);
    }));
    producers.push_back(start_child([&, i] {
      for (int item = i; item < items; item += parties) board->queue.put(item);
    }));
  }
  int failed = 0;
  for (const pid_t producer : producers) failed += exit_code_of(producer) != 0;
  board->queue.put(no_more);
  for (const pid_t consumer : consumers) failed += exit_code_of(consumer) != 0;
  checks.equal("four of both: children that failed", failed, 0);
  checks.equal("four of both: items popped once", static_cast<int>(std::count(board->times, board->times + items, 1)),
               items);
}

/// Numbers in blocks of all lengths, longer ones than the stream holds included, read in blocks of other lengths.
inline void stream_numbers(int count, cookbook::Checks& checks) {
  const Shared<Stream<int, 64>> stream;
  const pid_t writer = start_child([&] {
    std::mt19937 random(1);
    std::vector<int> block(150);
    for (int next = 0; next < count;) {
      const auto length = std::min<std::size_t>(random() % 150 + 1, static_cast<std::size_t>(count - next));
      for (std::size_t i = 0; i < length; ++i) block[i] = next++;
      stream->write({block.data(), length});
    }
    stream->close();
  });
  std::mt19937 random(2);
  std::vector<int> block(100);
  int next = 0, wrong = 0;
  while (const std::size_t length = stream->read({block.data(), random() % 100 + 1})) {
    for (std::size_t i = 0; i < length; ++i) wrong += block[i] != next++;
  }
  checks.equal("stream: exit code of the writer", exit_code_of(writer), 0);
  checks.equal("stream: numbers read, and how many of them wrong", std::vector<int>{next, wrong}, {count, 0});
}

/// A stream with the interface of a queue.
struct StreamOfNumbers {
  Stream<long, 64> stream;
  bool put(long number) { return stream.write({&number, 1}); }
  std::optional<long> get() {
    long number = 0;
    return stream.read({&number, 1}) == 1 ? std::optional(number) : std::nullopt;
  }
  void close() { stream.close(); }
};

/// Kills one of two sides, in whatever call it may be, with a lock or without, and closes the queue in its place. How
/// many of `rounds` survivors came to their end, the consumers with all numbers in order.
template <typename Queue>
int lose_one_side(int rounds, bool producer_dies) {
  struct Line {
    Queue queue;
    std::atomic<long> popped = 0;
  };
  int ended = 0;
  for (int round = 0; round < rounds; ++round) {
    const Shared<Line> line;
    const pid_t producer = start_child([&] {
      for (long i = 0; line->queue.put(i); ++i) continue;
    });
    const pid_t consumer = start_child([&] {
      while (const auto number = line->queue.get()) {
        if (*number != line->popped++) return 1;
      }
      return 0;
    });
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (line->popped <= round && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    const pid_t lost = producer_dies ? producer : consumer, other = producer_dies ? consumer : producer;
    check(kill(lost, SIGKILL), "kill");
    const bool killed = exit_code_of(lost) == -SIGKILL;  // the system tells the parent
    line->queue.close();                                 // and the parent tells the other
    ended += exit_code_of(other) == 0 && killed;
  }
  return ended;
}
