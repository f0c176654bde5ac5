/// What queue and stream cost, beside a pipe and two libraries: numbers one by one, large blocks, there and back.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "channels.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/verdict.hpp"
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

/// A row of a table: what to run, for how much of something, and what it took.
struct Row {
  std::string name;
  double amount;
  std::function<double(int& failures)> run;
  std::vector<double> seconds = {};
};

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
Row numbers_by(const std::string& name, long count) {
  return {name, static_cast<double>(count), [count](int& failures) {
            return one_way<Channel>(static_cast<std::size_t>(count) * sizeof(long), sizeof(long), failures);
          }};
}

template <typename Channel>
Row blocks_by(const std::string& name, std::size_t total, std::size_t size) {
  return {name, static_cast<double>(total), [=](int& failures) { return one_way<Channel>(total, size, failures); }};
}

template <typename Channel>
Row turns_by(const std::string& name, long turns) {
  return {name, static_cast<double>(turns),
          [turns](int& failures) { return there_and_back<Channel>(turns, failures); }};
}

}  // namespace queue_speed

/// Prints three tables. The rows take turns, so that whatever else the machine does meets all of them alike.
inline void measure_queues(long numbers, cookbook::Verdict& verdict) {
  using namespace queue_speed;
  constexpr std::size_t size = 1 << 16;
  const std::size_t total = static_cast<std::size_t>(numbers) * 1000 / size * size + size;
  const long turns = numbers / 100 + 1;
  std::vector<Row> one_by_one = {
      numbers_by<PipeChannel>("pipe", numbers), numbers_by<BoostChannel>("boost::interprocess::message_queue", numbers),
      numbers_by<LockfreeChannel>("boost::lockfree::spsc_queue, spinning", 10 * numbers),
      numbers_by<QueueChannel>("SharedQueue", numbers), numbers_by<StreamChannel>("Stream", 10 * numbers)};
  std::vector<Row> in_blocks = {
      {"memcpy in one process", static_cast<double>(total), [total](int&) { return copy_blocks(total, size); }},
      blocks_by<PipeChannel>("pipe", total, size),
      blocks_by<BoostChannel>("boost::interprocess::message_queue", total, size),
      blocks_by<StreamChannel>("Stream", total, size)};
  std::vector<Row> returned = {
      turns_by<PipeChannel>("two pipes", turns), turns_by<BoostChannel>("two message queues of Boost", turns),
      turns_by<QueueChannel>("two of SharedQueue", turns), turns_by<StreamChannel>("two of Stream", turns)};

  int failures = 0;
  for (int round = 0; round < 6; ++round) {
    for (std::vector<Row>* rows : {&one_by_one, &in_blocks, &returned}) {
      for (Row& row : *rows) {
        const double seconds = row.run(failures);
        if (round > 0) row.seconds.push_back(seconds);  // the first round warms up
      }
    }
  }
  verdict.equal("measured processes that failed, or got something wrong", failures, 0);

  const auto print = [&](cookbook::Figures figures, const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      const auto add = row.name.starts_with("memcpy")                  ? &cookbook::Figures::add_limit
                       : row.name == "pipe" || row.name == "two pipes" ? &cookbook::Figures::add_peer
                                                                       : &cookbook::Figures::add;
      (figures.*add)(row.name, cookbook::timing_of(row.seconds), row.amount);
    }
    figures.print(verdict);
  };
  print(cookbook::Figures("numbers of 8 bytes, one a call", cookbook::rate("M/s", 1e6)), one_by_one);
  print(cookbook::Figures("blocks of 64 KiB", cookbook::rate("GB/s", 1e9)), in_blocks);
  print(cookbook::Figures("one number there and back", cookbook::cost("us", 1e-6)), returned);
}
