/// One need not read this file to understand the recipe. A mutex that records who locks it and who waits for it, and
/// finds a deadlock instead of waiting for ever.
#pragma once

#include <fmt/format.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

class TracedMutex;

/// Runs threads step by step, always in the same order, and records what they do. The turn goes to the next thread when
/// one has locked its first mutex, when it has to wait, and when it has unlocked its last mutex.
class Trace {
 public:
  /// Runs each function in a thread of its own, named A, B and so on; A begins. Returns when all have ended.
  void run(const std::vector<std::function<void()>>& functions);

  /// Records what the calling thread does now. Needs no lock: only the thread whose turn it is calls this.
  void note(const std::string& what);

  /// What a thread has done in one turn.
  struct Event {
    int thread;
    std::string what;
  };

  const std::vector<Event>& events() const { return events_; }

 private:
  friend class TracedMutex;

  struct Thread {
    TracedMutex* waits_for = nullptr;
    int held = 0;  // how many locks
    bool ended = false;
  };

  bool can_run(const Thread& thread) const;
  void pass_turn();

  std::mutex mutex_;  // protects everything below, and the traced mutexes
  std::condition_variable turn_passed_;
  std::vector<Thread> threads_;
  std::vector<Event> events_;
  int turn_ = 0;
  bool deadlocked_ = false;
};

/// Has the functions of a std::mutex, so the standard's lock classes work with it. Use it only in threads of its trace.
class TracedMutex {
 public:
  TracedMutex(Trace& trace, int number) : trace_(trace), number_(number) {}

  /// Waits while another thread holds the mutex. If that could never end, since the holder waits for the caller, all
  /// threads that wait get the error that the standard has for this, std::errc::resource_deadlock_would_occur.
  void lock();

  bool try_lock();
  void unlock();

 private:
  friend class Trace;

  std::unique_lock<std::mutex> at_my_turn();
  void take();
  bool closes_a_circle() const;

  Trace& trace_;
  int number_;
  int holder_ = -1;  // the thread that holds it; -1: none
};

// The implementation. `me` is the calling thread's number: 0 for A, 1 for B.

inline thread_local int me = -1;

inline char name_of(int thread) { return static_cast<char>('A' + thread); }

inline void Trace::run(const std::vector<std::function<void()>>& functions) {
  threads_.resize(functions.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    threads.emplace_back([&, i] {
      me = static_cast<int>(i);
      functions[i]();
      std::scoped_lock lock(mutex_);
      threads_[i].ended = true;
      if (turn_ == me) pass_turn();
    });
  }
}

inline void Trace::note(const std::string& what) {
  if (deadlocked_) return;
  if (events_.empty() || events_.back().thread != me) {
    events_.push_back({me, fmt::format("{} {}", name_of(me), what)});
  } else {
    events_.back().what += ", " + what;
  }
}

inline bool Trace::can_run(const Thread& thread) const {
  return !thread.ended && (thread.waits_for == nullptr || thread.waits_for->holder_ == -1);
}

inline void Trace::pass_turn() {
  for (std::size_t i = 1; i < threads_.size(); ++i) {
    const std::size_t next = (me + i) % threads_.size();
    if (!can_run(threads_[next])) continue;
    turn_ = static_cast<int>(next);
    turn_passed_.notify_all();
    return;
  }
}

inline std::unique_lock<std::mutex> TracedMutex::at_my_turn() {
  std::unique_lock lock(trace_.mutex_);
  trace_.turn_passed_.wait(lock, [&] { return trace_.turn_ == me || trace_.deadlocked_; });
  return lock;
}

inline void TracedMutex::take() {
  holder_ = me;
  trace_.note(fmt::format("locks {}", number_));
  if (++trace_.threads_[me].held == 1) trace_.pass_turn();
}

/// Whether the caller would wait for itself: from the holder to what it waits for, to the holder of that, and so on.
inline bool TracedMutex::closes_a_circle() const {
  const TracedMutex* mutex = this;
  while (mutex != nullptr && mutex->holder_ != -1) {
    if (mutex->holder_ == me) return true;
    mutex = trace_.threads_[mutex->holder_].waits_for;
  }
  return false;
}

inline void TracedMutex::lock() {
  auto lock = at_my_turn();
  if (holder_ != -1) {
    const bool for_ever = closes_a_circle();
    trace_.note(fmt::format("waits for {}, which {} holds{}", number_, name_of(holder_), for_ever ? ": for ever" : ""));
    trace_.threads_[me].waits_for = this;
    if (for_ever) {
      trace_.deadlocked_ = true;
      trace_.turn_passed_.notify_all();
    } else {
      trace_.pass_turn();
      trace_.turn_passed_.wait(lock, [&] { return trace_.turn_ == me || trace_.deadlocked_; });
    }
    trace_.threads_[me].waits_for = nullptr;
  }
  // Also at every later lock(): after a deadlock the drawing is complete, and the threads only have to end.
  if (trace_.deadlocked_) throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur));
  take();
}

inline bool TracedMutex::try_lock() {
  const auto lock = at_my_turn();
  if (holder_ == -1) {
    take();
    return true;
  }
  trace_.note(fmt::format("finds {} locked", number_));
  return false;
}

inline void TracedMutex::unlock() {
  const auto lock = at_my_turn();
  holder_ = -1;
  trace_.note(fmt::format("unlocks {}", number_));
  if (--trace_.threads_[me].held == 0) trace_.pass_turn();
}
