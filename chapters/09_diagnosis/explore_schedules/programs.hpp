/// The programs that are explored. Each is made anew for every run.
#pragma once

#include <algorithm>
#include <deque>
#include <string>

#include "explorer.hpp"

/// Each thread adds 1 to a counter, several times: it loads the value, and stores it increased.
template <int number_of_threads, int updates = 1>
struct Update {
  static constexpr int threads = number_of_threads;
  int counter = 0;

  void run(int, SteppedThread& self) {
    for (int i = 0; i < updates; ++i) {
      int seen = 0;
      self.step("loads", [&] { return seen = counter; });
      self.step("stores", [&] { return counter = seen + 1; });
    }
  }
  std::string fault() const { return counter == threads * updates ? "" : "an update is lost"; }
};

struct Mutex {
  bool locked = false;
  void lock(SteppedThread& self) {
    self.step_when([this] { return !locked; }, "locks", [this] { locked = true; });
  }
  void unlock(SteppedThread& self) {
    self.step("unlocks", [this] { locked = false; });
  }
};

/// The same under a mutex.
struct LockedUpdate : Update<2> {
  Mutex mutex;

  void run(int number, SteppedThread& self) {
    mutex.lock(self);
    Update::run(number, self);
    mutex.unlock(self);
  }
};

/// G. L. Peterson's lock for two threads, of 1981: each says that it is interested, and lets the other one go first.
/// `turn_first` is the mistake: the two stores are made in the other order.
template <bool turn_first>
struct Peterson {
  static constexpr int threads = 2;
  bool interested[2] = {};
  int turn = 0, inside = 0;

  void run(int me, SteppedThread& self) {
    const int other = 1 - me;
    const auto give_turn = [&] { turn = other; };
    if (turn_first) self.step("gives the turn away", give_turn);
    self.step("is interested", [&] { interested[me] = true; });
    if (!turn_first) self.step("gives the turn away", give_turn);
    self.step_when([&] { return !interested[other] || turn == me; }, "may go on", [] {});
    self.step("is inside", [&] { ++inside; });
    self.require(inside == 1, "both are inside");
    self.step("leaves", [&] { --inside; });
    self.step("has no interest", [&] { interested[me] = false; });
  }
  std::string fault() const { return ""; }
};

/// As std::condition_variable, but nobody wakes without a notification, and notify_one() wakes the one that has waited
/// longest. (The standard leaves both open.)
struct Condition {
  std::deque<SteppedThread*> waiting;
  void wait(Mutex& mutex, SteppedThread& self, const char* why) {
    self.step(why, [&] {  // unlocks and begins to wait in one step: that is what a condition variable is for
      waiting.push_back(&self);
      mutex.locked = false;
    });
    const auto is_woken = [&] { return std::find(waiting.begin(), waiting.end(), &self) == waiting.end(); };
    self.step_when([&, is_woken] { return is_woken() && !mutex.locked; }, "wakes", [&] { mutex.locked = true; });
  }
  void notify_one(SteppedThread& self) {
    self.step("notifies", [this]() -> std::string {
      if (waiting.empty()) return "nobody";
      const char woken = waiting.front()->name();
      waiting.pop_front();
      return {woken};
    });
  }
  void notify_all(SteppedThread& self) {
    self.step("notifies all", [this] { waiting.clear(); });
  }
};

/// A queue with room for one item. A puts two items, B and C take one each. A waits while it is full, B and C while it
/// is empty, all at one condition variable; `all` says whether everybody is notified of a change, or one thread.
template <bool all>
struct Queue {
  static constexpr int threads = 3;
  int items = 0, taken = 0;
  Mutex mutex;
  Condition changed;

  void run(int number, SteppedThread& self) {
    if (number > 0) return change(-1, self);
    change(+1, self);
    change(+1, self);
  }

  void change(int by, SteppedThread& self) {
    mutex.lock(self);
    const char* why = by > 0 ? "finds it full, waits" : "finds it empty, waits";
    while (items + by < 0 || items + by > 1) changed.wait(mutex, self, why);
    self.step(by > 0 ? "puts" : "takes", [&] { items += by; });
    self.require(items == 0 || items == 1, "the queue had nothing to take, or no room");
    if (all)
      changed.notify_all(self);
    else
      changed.notify_one(self);
    mutex.unlock(self);
  }
  std::string fault() const { return items == 0 ? "" : "an item is left"; }
};

/// The same queue with two condition variables, one for A and one for B and C. So notify_one wakes a thread that can go
/// on.
struct TwoConditionQueue {
  static constexpr int threads = 3;
  int items = 0;
  Mutex mutex;
  Condition not_full, not_empty;

  void run(int number, SteppedThread& self) {
    if (number > 0) return take(self);
    put(self);
    put(self);
  }
  void put(SteppedThread& self) {
    mutex.lock(self);
    while (items == 1) not_full.wait(mutex, self, "finds it full, waits");
    self.step("puts", [&] { ++items; });
    not_empty.notify_one(self);
    mutex.unlock(self);
  }
  void take(SteppedThread& self) {
    mutex.lock(self);
    while (items == 0) not_empty.wait(mutex, self, "finds it empty, waits");
    self.step("takes", [&] { --items; });
    not_full.notify_one(self);
    mutex.unlock(self);
  }
  std::string fault() const { return items == 0 ? "" : "items are left, or were not there"; }
};
