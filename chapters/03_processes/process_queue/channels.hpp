/// The ways to hand things over that are measured, as channels of one kind: write() and read() take a block of a size
/// that the channel is made for.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/interprocess/ipc/message_queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#include <cstring>
#include <span>
#include <string>
#include <thread>

#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"
#include "shared_memory.hpp"
#include "shared_queue.hpp"
#include "stream.hpp"

namespace queue_speed {

struct PipeChannel {
  int ends[2];
  explicit PipeChannel(std::size_t) { check(pipe2(ends, O_CLOEXEC), "pipe2"); }
  ~PipeChannel() { close(ends[0]), close(ends[1]); }
  PipeChannel(const PipeChannel&) = delete;
  void write(std::span<const char> block) {
    for (std::size_t done = 0; done < block.size();) {
      done += static_cast<std::size_t>(check(::write(ends[1], block.data() + done, block.size() - done), "write"));
    }
  }
  void read(std::span<char> block) {
    for (std::size_t done = 0; done < block.size();) {
      done += static_cast<std::size_t>(check(::read(ends[0], block.data() + done, block.size() - done), "read"));
    }
  }
};

/// Boost's message queue has a name; it is taken away as soon as there is a queue, so that nothing can be left behind.
struct BoostChannel {
  boost::interprocess::message_queue queue;
  explicit BoostChannel(std::size_t block)
      : queue(boost::interprocess::create_only, name().c_str(), std::max<std::size_t>((1 << 15) / block, 4), block) {
    boost::interprocess::message_queue::remove(name().c_str());
  }
  static std::string name() { return fmt::format("cookbook.process_queue.{}", getpid()); }
  void write(std::span<const char> block) { queue.send(block.data(), block.size(), 0); }
  void read(std::span<char> block) {
    std::size_t size = 0;
    unsigned priority = 0;
    queue.receive(block.data(), block.size(), size, priority);
  }
};

/// Boost's queue for one producer and one consumer, who spin.
struct LockfreeChannel {
  Shared<boost::lockfree::spsc_queue<long, boost::lockfree::capacity<4096>>> queue;
  explicit LockfreeChannel(std::size_t) {}
  void write(std::span<const char> block) {
    long number = 0;
    std::memcpy(&number, block.data(), sizeof number);
    for (int looks = 1; !queue->push(number); ++looks) {
      if (looks % 1000 == 0) std::this_thread::yield();
    }
  }
  void read(std::span<char> block) {
    long number = 0;
    for (int looks = 1; !queue->pop(number); ++looks) {
      if (looks % 1000 == 0) std::this_thread::yield();
    }
    std::memcpy(block.data(), &number, sizeof number);
  }
};

struct QueueChannel {
  Shared<SharedQueue<long, 4096>> queue;
  explicit QueueChannel(std::size_t) {}
  void write(std::span<const char> block) {
    long number = 0;
    std::memcpy(&number, block.data(), sizeof number);
    queue->put(number);
  }
  void read(std::span<char> block) {
    const long number = *queue->get();
    std::memcpy(block.data(), &number, sizeof number);
  }
};

struct StreamChannel {
  Shared<Stream<char, 1 << 18>> stream;
  explicit StreamChannel(std::size_t) {}
  void write(std::span<const char> block) { stream->write(block); }
  void read(std::span<char> block) {
    while (!block.empty()) block = block.subspan(stream->read(block));
  }
};

}  // namespace queue_speed
