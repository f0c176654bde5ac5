/// Channels without a buffer, and select: reading from whichever of several is ready first, or giving up in time.
///
/// The processes are fibers of one thread. Time is simulated: it goes on by one tick when no process can go on, so that
/// each run has the same order of events.
#pragma once

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>
#include <deque>
#include <mutex>
#include <vector>

/// What all processes of a program share: the time, and one condition on which every process waits that has to wait.
struct World {
  boost::fibers::mutex mutex;
  boost::fibers::condition_variable changed;
  long now = 0;    ///< in ticks
  long steps = 0;  ///< that processes have made, so that run_until sees whether something has happened

  /// To be called, with the mutex locked, whenever something has happened for which others may wait.
  void step() {
    ++steps;
    changed.notify_all();
  }

  /// Waits until this tick.
  void sleep_until(long tick) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return now >= tick; });
    ++steps;
  }

  /// Lets the processes run, and lets time go on up to tick `end`.
  void run_until(long end) {
    while (now < end) {
      for (long before = -1; before != steps;) {  // until no process makes a step
        before = steps;
        boost::this_fiber::yield();  // each process that can go on does so, once
      }
      std::unique_lock lock(mutex);
      ++now;
      changed.notify_all();
    }
  }
};

/// Hands values from a writer to a reader. Nothing is kept: a write waits until its value has been read.
class Channel {
 public:
  explicit Channel(World& world) : world_(world) {}

  /// Returns when somebody has read the value; false if the reader closes the channel instead, or has closed it.
  bool write(int value) {
    std::unique_lock lock(world_.mutex);
    if (closed_) return false;
    Offer offer = {value};
    offers_.push_back(&offer);
    world_.step();
    world_.changed.wait(lock, [&] { return offer.taken || closed_; });
    return offer.taken;
  }

  /// Nobody will read any more.
  void close() {
    std::unique_lock lock(world_.mutex);
    closed_ = true;
    offers_.clear();
    world_.step();
  }

  struct Selected {
    int channel;  ///< its place in the list; -1 if none was ready in time
    int value;
  };
  static constexpr int none = -1;

  /// Reads from a channel of the list to which somebody writes, and waits for one if need be, up to tick `deadline`. If
  /// several are ready, the first one of them is taken, counted from place `first` on.
  static Selected select(World& world, const std::vector<Channel*>& channels, long deadline, int first = 0) {
    std::unique_lock lock(world.mutex);
    while (true) {
      for (std::size_t i = 0; i < channels.size(); ++i) {
        const std::size_t place = (static_cast<std::size_t>(first) + i) % channels.size();
        std::deque<Offer*>& offers = channels[place]->offers_;
        if (offers.empty()) continue;
        Offer& offer = *offers.front();
        offers.pop_front();
        offer.taken = true;
        world.step();  // the writer goes on
        return {static_cast<int>(place), offer.value};
      }
      if (world.now >= deadline) return {none, 0};
      world.changed.wait(lock);  // any channel may be the one that is ready next
    }
  }

 private:
  struct Offer {
    int value;
    bool taken = false;
  };

  World& world_;
  std::deque<Offer*> offers_;  // of the writers that wait
  bool closed_ = false;
};
