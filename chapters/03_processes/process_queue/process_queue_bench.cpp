// Queue between processes, measured
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/03_processes chapters/03_processes/process_queue/process_queue_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o process_queue_bench
// Run:     process_queue_bench [--numbers N] [--mebibytes N] [--rounds N]

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <boost/interprocess/ipc/message_queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"
#include "shared_queue.hpp"

namespace {

constexpr std::size_t room = 256 * 1024;  // bytes that each channel can hold

/// What is sent: `size` bytes, which begin with a number.
template <std::size_t size>
struct Block {
  long words[size / sizeof(long)];
};

template <typename Item>
struct Pipe {
  int ends[2];
  Pipe() {
    check(pipe2(ends, O_CLOEXEC), "pipe2");
    check(fcntl(ends[1], F_SETPIPE_SZ, room), "fcntl");
  }
  ~Pipe() { close(ends[0]), close(ends[1]); }
  Pipe(const Pipe&) = delete;
  void put(const Item& item) {
    const char* bytes = reinterpret_cast<const char*>(&item);
    for (std::size_t done = 0; done < sizeof item;) {
      done += static_cast<std::size_t>(check(write(ends[1], bytes + done, sizeof item - done), "write"));
    }
  }
  void get(Item& item) {
    char* bytes = reinterpret_cast<char*>(&item);
    for (std::size_t done = 0; done < sizeof item;) {
      done += static_cast<std::size_t>(check(read(ends[0], bytes + done, sizeof item - done), "read"));
    }
  }
};

/// Boost's queue has a name, which is removed at once, so that nothing can be left behind.
template <typename Item>
struct MessageQueue {
  static std::string name() { return fmt::format("cookbook.process_queue.{}", getpid()); }
  boost::interprocess::message_queue queue{boost::interprocess::create_only, name().c_str(), room / sizeof(Item),
                                           sizeof(Item)};
  MessageQueue() { boost::interprocess::message_queue::remove(name().c_str()); }
  void put(const Item& item) { queue.send(&item, sizeof item, 0); }
  void get(Item& item) {
    std::size_t size = 0;
    unsigned priority = 0;
    queue.receive(&item, sizeof item, size, priority);
  }
};

/// The queue of the recipe.
template <typename Item>
struct Recipe {
  Shared<SharedQueue<Item, room / sizeof(Item)>> queue;
  void put(const Item& item) { queue->put(item); }
  void get(Item& item) { item = queue->get(); }
};

/// Boost's ring for one producer and one consumer. It does not wait, so its users try until they succeed.
template <typename Item>
struct Spinning {
  Shared<boost::lockfree::spsc_queue<Item, boost::lockfree::capacity<room / sizeof(Item)>>> queue;
  static void again(int tries) {
    if (tries % 1000 == 0) std::this_thread::yield();
  }
  void put(const Item& item) {
    for (int tries = 1; !queue->push(item); ++tries) again(tries);
  }
  void get(Item& item) {
    for (int tries = 1; !queue->pop(item); ++tries) again(tries);
  }
};

/// Runs both functions at the same time, each in a child on a processor of its own. Returns the seconds from the start
/// of both to the end of `second`; adds the children that have found a fault to `wrong`.
double seconds_together(const std::function<bool()>& first, const std::function<bool()>& second, int& wrong) {
  struct Start {
    std::atomic<int> ready = 0;
    double seconds = 0;
  };
  const Shared<Start> start;
  const auto meet = [&] {
    for (++start->ready; start->ready < 2;) std::this_thread::yield();
  };
  const pid_t one = cookbook::start_child([&] {
    cookbook::pin(0);
    meet();
    return first() ? 0 : 1;
  });
  const pid_t two = cookbook::start_child([&] {
    cookbook::pin(1);
    meet();
    const cookbook::Stopwatch watch;
    const bool right = second();
    start->seconds = watch.seconds();
    return right ? 0 : 1;
  });
  wrong += cookbook::exit_code_of(one) != 0;
  wrong += cookbook::exit_code_of(two) != 0;
  return start->seconds;
}

template <template <typename> class Channel, std::size_t size>
double one_way(long count, int& wrong) {
  Channel<Block<size>> channel;
  const auto send = [&] {
    Block<size> block;
    std::memset(&block, 1, size);
    for (long i = 0; i < count; ++i) {
      block.words[0] = i;
      channel.put(block);
    }
    return true;
  };
  const auto receive = [&] {
    Block<size> block;
    bool right = true;
    for (long i = 0; i < count; ++i) {
      channel.get(block);
      cookbook::do_not_optimize(&block);  // all of it, not only the number that is looked at
      right &= block.words[0] == i;
    }
    return right;
  };
  return seconds_together(send, receive, wrong);
}

template <template <typename> class Channel>
double there_and_back(long count, int& wrong) {
  Channel<long> there, back;
  const auto echo = [&] {
    long number = 0;
    for (long i = 0; i < count; ++i) there.get(number), back.put(number);
    return true;
  };
  const auto ask = [&] {
    long number = -1;
    bool right = true;
    for (long i = 0; i < count; ++i) {
      there.put(i);
      back.get(number);
      right &= number == i;
    }
    return right;
  };
  return seconds_together(echo, ask, wrong);
}

/// In one process, from and to the same two blocks: a limit that the processor's caches set.
double copy_blocks(std::size_t size, std::size_t count) {
  std::vector<char> from(size, 1), to(size);
  const cookbook::Stopwatch watch;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to.data(), from.data(), size);
    cookbook::do_not_optimize(to.data());
  }
  return watch.seconds();
}

}  // namespace

int main(int argc, char** argv) {
  long numbers = 200'000;
  std::size_t mebibytes = 64;
  int rounds = 7;
  cookbook::Options options("What it costs to pass items between processes");
  options.add("numbers", numbers, "numbers that a run sends; there and back a fiftieth of them", 1'000, 100'000'000);
  options.add("mebibytes", mebibytes, "MiB that a run sends in blocks", 1, 65'536);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);

  int wrong = 0;
  const auto row_of_numbers = [&]<template <typename> class Channel>(const char* name) {
    return cookbook::Benchmark(name, static_cast<double>(numbers), [&] { return one_way<Channel, 8>(numbers, wrong); });
  };
  constexpr std::size_t size = 64 * 1024;
  const std::size_t blocks = (mebibytes << 20) / size;
  const double bytes = static_cast<double>(blocks * size);
  const auto row_of_blocks = [&]<template <typename> class Channel>(const char* name) {
    return cookbook::Benchmark(name, bytes, [&] { return one_way<Channel, size>(static_cast<long>(blocks), wrong); });
  };
  const long turns = numbers / 50;
  const auto row_of_turns = [&]<template <typename> class Channel>(const char* name) {
    return cookbook::Benchmark(name, static_cast<double>(turns), [&] { return there_and_back<Channel>(turns, wrong); });
  };

  cookbook::Figures one_by_one("one number per call", cookbook::rate("M/s", 1e6));
  one_by_one.measure({row_of_numbers.operator()<Pipe>("pipe"), row_of_numbers.operator()<Recipe>("SharedQueue"),
                      row_of_numbers.operator()<MessageQueue>("boost::interprocess::message_queue"),
                      row_of_numbers.operator()<Spinning>("boost::lockfree::spsc_queue, spinning")},
                     rounds);
  one_by_one.speedup_over("pipe");

  cookbook::Figures in_blocks("blocks of 64 KiB", cookbook::rate("GB/s", 1e9));
  in_blocks.measure({{"memcpy in one process", bytes, [&] { return copy_blocks(size, blocks); }},
                     row_of_blocks.operator()<Pipe>("pipe"),
                     row_of_blocks.operator()<Recipe>("SharedQueue"),
                     row_of_blocks.operator()<MessageQueue>("boost::interprocess::message_queue"),
                     row_of_blocks.operator()<Spinning>("boost::lockfree::spsc_queue, spinning")},
                    rounds);
  in_blocks.percent_of("memcpy in one process", "memcpy");
  in_blocks.speedup_over("pipe");

  cookbook::Figures returned("one number there and back", cookbook::cost("us", 1e-6));
  returned.measure({row_of_turns.operator()<Pipe>("pipe"), row_of_turns.operator()<Recipe>("SharedQueue"),
                    row_of_turns.operator()<MessageQueue>("boost::interprocess::message_queue"),
                    row_of_turns.operator()<Spinning>("boost::lockfree::spsc_queue, spinning")},
                   rounds);
  returned.speedup_over("pipe");

  cookbook::Checks checks;
  checks.equal("processes that received something wrong, or failed", wrong, 0);
  one_by_one.print(checks);
  in_blocks.print(checks);
  returned.print(checks);
  return checks.exit_code();
}
