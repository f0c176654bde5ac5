/// A channel in the sense of CSP: it hands values over and keeps none.
#pragma once

#include <boost/fiber/context.hpp>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "trace.hpp"

/// The channel has been poisoned; its values are not to be relied on.
struct Poisoned : std::exception {
  const char* what() const noexcept override { return "the channel is poisoned"; }
};

/// All writers (for a reader) or all readers (for a writer) have retired; there is nobody left to talk to.
struct Retired : std::exception {
  const char* what() const noexcept override { return "nobody is left at the other end of the channel"; }
};

/// Any number of writers and readers, all of them fibers of one thread. Whoever comes first waits; those who wait are
/// served in the order of their coming. Fibers take turns only where they wait, so nothing here needs a lock.
template <typename T>
class Channel {
  enum class State { waiting, done, poisoned, retired };

  /// A fiber at the channel, with its value or an empty place for one.
  struct Visit {
    std::string process = "main";
    bool writes;
    boost::fibers::context* fiber = nullptr;
    std::optional<T> value = {};
    State state = State::done;
    Visit* next = nullptr;
  };

 public:
  /// One end of the channel. It belongs to one process, and retires at the latest when it is destroyed.
  template <bool writes>
  class End {
   public:
    explicit End(Channel& channel) : channel_(&channel) {
      note(writes ? "ChannelEndWrite" : "ChannelEndRead", "main", channel.name_);
      ++(writes ? channel.writers_ : channel.readers_).open;
    }
    End(End&& other) noexcept : channel_(std::exchange(other.channel_, nullptr)), visit_(std::move(other.visit_)) {}
    End& operator=(End&&) = delete;
    ~End() { retire(); }

    /// Writes: returns when a reader has the value.
    void operator()(T value) requires writes {
      if (!channel_) throw Retired();
      visit_.value.emplace(std::move(value));
      channel_->meet(visit_);
    }

    /// Reads: returns when a writer has given a value.
    T operator()() requires(!writes) {
      if (!channel_) throw Retired();
      channel_->meet(visit_);
      return std::move(*visit_.value);
    }

    /// Ends the channel for all, at once: whoever waits at it or comes to it gets the exception Poisoned.
    void poison() {
      if (channel_) channel_->poison(visit_.process);
    }

    /// Leaves. When the last writer has left, readers get the exception Retired, and the other way round.
    void retire() {
      if (channel_) std::exchange(channel_, nullptr)->retire(writes);
    }

    /// Tells in whose name this end is used, for the trace.
    void belongs_to(const std::string& process) { visit_.process = process; }

   private:
    Channel* channel_;
    Visit visit_ = {.writes = writes};
  };

  using Writer = End<true>;
  using Reader = End<false>;

  explicit Channel(std::string name) : name_(std::move(name)) { note("Channel", "main", name_); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  Writer writer() { return Writer(*this); }
  Reader reader() { return Reader(*this); }

 private:
  struct Side {
    int open = 0;       ///< ends that have not retired
    bool left = false;  ///< all ends that there were have retired
    long begun = 0;     ///< reads or writes
  };

  /// Exchanges the value with whoever waits longest at the other end, or waits for somebody to come.
  void meet(Visit& self) {
    Side& mine = self.writes ? writers_ : readers_;
    note(self.writes ? "BlockOnWrite" : "BlockOnRead", self.process, name_, mine.begun++);
    refuse(end_for(self.writes));

    if (first_ && first_->writes != self.writes) {
      Visit& from = self.writes ? self : *first_;
      Visit& to = self.writes ? *first_ : self;
      to.value = std::move(from.value);
      note("DoneRead", to.process, name_, meetings_);
      note("DoneWrite", from.process, name_, meetings_++);
      wake_first(State::done);
      return;
    }

    // All who wait are writers, or all are readers: else they would have met.
    self.fiber = boost::fibers::context::active();
    self.state = State::waiting;
    self.next = nullptr;
    (first_ ? last_->next : first_) = &self;
    last_ = &self;
    while (self.state == State::waiting) self.fiber->suspend();
    refuse(self.state);
  }

  void wake_first(State state) {
    Visit& woken = *first_;
    first_ = woken.next;
    woken.state = state;
    boost::fibers::context::active()->schedule(woken.fiber);  // it runs when this fiber waits
  }

  void poison(const std::string& process) {
    note("Poison", process, name_, meetings_);
    poisoned_ = true;
    while (first_) wake_first(State::poisoned);
  }

  void retire(bool writes) {
    Side& mine = writes ? writers_ : readers_;
    if (--mine.open > 0) return;
    mine.left = true;
    while (first_ && first_->writes != writes) wake_first(State::retired);
  }

  State end_for(bool writes) const {
    if (poisoned_) return State::poisoned;
    return (writes ? readers_ : writers_).left ? State::retired : State::done;
  }

  static void refuse(State state) {
    if (state == State::poisoned) throw Poisoned();
    if (state == State::retired) throw Retired();
  }

  std::string name_;
  Visit* first_ = nullptr;  ///< who waits, in the order of their coming
  Visit* last_ = nullptr;
  Side writers_, readers_;
  long meetings_ = 0;
  bool poisoned_ = false;
};
