/// What queue and stream cost, beside a pipe and two libraries: numbers one by one, large blocks, there and back.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "channels.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "side_by_side.hpp"

namespace queue_speed {

/// Sends `total` bytes in blocks; each begins with its number.
template <typename Channel>
double one_way(std::size_t total, std::size_t size, int& failures) {
  Channel channel(size);
  const auto blocks = static_cast<long>(total / size);
  return seconds_together(
      [&] {
        std::vector<char> block(size, 'x');
        for (long i = 0; i < blocks; ++i) {
          std::memcpy(block.data(), &i, sizeof i);
          channel.write(block);
        }
        return true;
      },
      [&] {
        std::vector<char> block(size);
        bool right = true;
        for (long i = 0; i < blocks; ++i) {
          channel.read(block);
          right &= std::memcmp(block.data(), &i, sizeof i) == 0;
        }
        return right;
      },
      failures);
}

/// One number there and back, `turns` times.
template <typename Channel>
double there_and_back(long turns, int& failures) {
  Channel there(sizeof(long)), back(sizeof(long));
  return seconds_together(
      [&] {
        std::vector<char> block(sizeof(long));
        for (long i = 0; i < turns; ++i) {
          there.read(block);
          back.write(block);
        }
        return true;
      },
      [&] {
        std::vector<char> block(sizeof(long));
        bool right = true;
        for (long i = 0; i < turns; ++i) {
          std::memcpy(block.data(), &i, sizeof i);
          there.write(block);
          back.read(block);
          right &= std::memcmp(block.data(), &i, sizeof i) == 0;
        }
        return right;
      },
      failures);
}

/// One after another in one process, from and to the same two blocks: what the caches give.
inline double copy_blocks(std::size_t total, std::size_t size) {
  std::vector<char> from(size, 'x'), to(size);
  const cookbook::Stopwatch watch;
  for (std::size_t done = 0; done < total; done += size) {
    std::memcpy(to.data(), from.data(), size);
    cookbook::keep(to.data());
  }
  return watch.seconds();
}

template <typename Channel>
cookbook::Row numbers_by(const std::string& name, long count, int& failures) {
  return {name, static_cast<double>(count), [count, &failures] {
            return one_way<Channel>(static_cast<std::size_t>(count) * sizeof(long), sizeof(long), failures);
          }};
}

template <typename Channel>
cookbook::Row blocks_by(const std::string& name, std::size_t total, std::size_t size, int& failures) {
  return {name, static_cast<double>(total),
          [total, size, &failures] { return one_way<Channel>(total, size, failures); }};
}

template <typename Channel>
cookbook::Row turns_by(const std::string& name, long turns, int& failures) {
  return {name, static_cast<double>(turns), [turns, &failures] { return there_and_back<Channel>(turns, failures); }};
}

}  // namespace queue_speed

/// Prints three tables.
inline void measure_queues(long numbers, cookbook::Checks& checks) {
  using namespace queue_speed;
  constexpr std::size_t size = 1 << 16;
  const std::size_t total = static_cast<std::size_t>(numbers) * 1000 / size * size + size;
  const long turns = numbers / 100 + 1;
  constexpr int rounds = 5;
  int failures = 0;

  cookbook::Figures one_by_one("numbers of 8 bytes, one a call", cookbook::rate("M/s", 1e6));
  one_by_one.measure({numbers_by<PipeChannel>("pipe", numbers, failures),
                      numbers_by<BoostChannel>("boost::interprocess::message_queue", numbers, failures),
                      numbers_by<LockfreeChannel>("boost::lockfree::spsc_queue, spinning", 10 * numbers, failures),
                      numbers_by<QueueChannel>("SharedQueue", numbers, failures),
                      numbers_by<StreamChannel>("Stream", 10 * numbers, failures)},
                     rounds);
  one_by_one.times("pipe");

  cookbook::Figures in_blocks("blocks of 64 KiB", cookbook::rate("GB/s", 1e9));
  in_blocks.measure(
      {{"memcpy in one process", static_cast<double>(total), [total] { return copy_blocks(total, size); }},
       blocks_by<PipeChannel>("pipe", total, size, failures),
       blocks_by<BoostChannel>("boost::interprocess::message_queue", total, size, failures),
       blocks_by<StreamChannel>("Stream", total, size, failures)},
      rounds);
  in_blocks.percent_of("memcpy in one process", "memcpy");
  in_blocks.times("pipe");

  cookbook::Figures returned("one number there and back", cookbook::cost("us", 1e-6));
  returned.measure({turns_by<PipeChannel>("two pipes", turns, failures),
                    turns_by<BoostChannel>("two message queues of Boost", turns, failures),
                    turns_by<QueueChannel>("two of SharedQueue", turns, failures),
                    turns_by<StreamChannel>("two of Stream", turns, failures)},
                   rounds);
  returned.times("two pipes", "pipes");

  checks.equal("measured processes that failed, or got something wrong", failures, 0);
  for (const cookbook::Figures* table : {&one_by_one, &in_blocks, &returned}) table->print(checks);
}
