/// A channel in the sense of CSP: it hands values over and keeps none.
#pragma once

#include <boost/fiber/context.hpp>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

/// The channel has been poisoned.
struct Poisoned : std::exception {
  const char* what() const noexcept override { return "the channel is poisoned"; }
};

/// All writers (for a reader) or all readers (for a writer) have retired.
struct Retired : std::exception {
  const char* what() const noexcept override { return "nobody is left at the other end of the channel"; }
};

/// Whether a fiber that is woken has met one of the other side; if not, the channel has ended.
enum class Met { no, yes };

/// Any number of writers and readers, all of them fibers of one thread. Fibers take turns only where they wait, so
/// nothing here needs a lock. Processes use the channel through its ends.
template <typename T>
class Channel {
  /// A fiber at the channel, with a value to give or a place for one.
  struct Visit {
    bool writes;
    std::optional<T> value = {};
    boost::fibers::context* waiting = nullptr;  ///< null once it has been woken
    bool met = false;                           ///< somebody from the other side has come
  };

 public:
  /// One end of the channel. It belongs to one process, and retires at the latest when it is destroyed.
  template <bool writes>
  class End {
   public:
    explicit End(Channel& channel) : channel_(&channel) { ++channel.open_[writes]; }
    End(End&& other) noexcept : channel_(std::exchange(other.channel_, nullptr)) {}
    ~End() { retire(); }

    /// Writes: returns when the value has been given to a reader.
    void operator()(T value) requires writes { visit({true, std::move(value)}); }

    /// Reads: returns when a writer has given a value.
    T operator()() requires(!writes) { return std::move(*visit({false}).value); }

    /// Whether a write (or read) would wait now, since nobody waits on the other side.
    bool would_wait() const {
      if (!channel_ || channel_->poisoned_ || channel_->left_[!writes]) return false;  // it would throw
      return channel_->waiting_.empty() || channel_->waiting_.front()->writes == writes;
    }

    /// Ends the channel for all, at once: whoever waits at it or comes to it gets the exception Poisoned.
    void poison() {
      if (!channel_) return;
      channel_->poisoned_ = true;
      while (!channel_->waiting_.empty()) channel_->wake_first(Met::no);
    }

    /// Leaves. When the last writer has left, readers get the exception Retired, and the other way round.
    void retire() {
      Channel* const channel = std::exchange(channel_, nullptr);
      if (!channel || --channel->open_[writes] > 0) return;
      channel->left_[writes] = true;
      while (!channel->waiting_.empty()) channel->wake_first(Met::no);
    }

   private:
    Visit visit(Visit self) {
      if (!channel_) throw Retired();
      channel_->meet(self);
      return self;
    }

    Channel* channel_;
  };

  using Writer = End<true>;
  using Reader = End<false>;

  Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  Writer writer() { return Writer(*this); }
  Reader reader() { return Reader(*this); }

 private:
  /// Exchanges the value with whoever waits longest on the other side, or waits for somebody to come.
  void meet(Visit& self) {
    refuse_if_over(self.writes);
    if (!waiting_.empty() && waiting_.front()->writes != self.writes) {
      Visit& other = *waiting_.front();
      Visit& writer = self.writes ? self : other;
      Visit& reader = self.writes ? other : self;
      reader.value = std::move(writer.value);
      wake_first(Met::yes);
      return;
    }
    self.waiting = boost::fibers::context::active();
    waiting_.push_back(&self);  // all who wait are writers, or all are readers: else they would have met
    while (self.waiting) boost::fibers::context::active()->suspend();
    if (!self.met) refuse_if_over(self.writes);
  }

  void wake_first(Met met) {
    Visit& first = *waiting_.front();
    waiting_.pop_front();
    first.met = met == Met::yes;
    boost::fibers::context::active()->schedule(std::exchange(first.waiting, nullptr));  // runs when this fiber waits
  }

  void refuse_if_over(bool writes) const {
    if (poisoned_) throw Poisoned();
    if (left_[!writes]) throw Retired();
  }

  std::deque<Visit*> waiting_;  ///< in the order in which they came
  int open_[2] = {};            ///< ends that have not retired: [0] of readers, [1] of writers
  bool left_[2] = {};           ///< the last reader, or writer, has retired
  bool poisoned_ = false;
};
