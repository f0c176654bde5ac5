/// A future of an event loop, as asyncio has it: it delivers a result, an exception or a cancellation to callbacks.
#pragma once

#include <algorithm>
#include <boost/asio.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

struct InvalidState : std::logic_error {
  using std::logic_error::logic_error;
};

struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("the future was cancelled") {}
};

/// A value that is not there yet. Copies are the same future, so whoever needs it keeps it alive. For the thread of its
/// loop alone (std::promise and std::future are for several), and not to be kept longer than the loop.
template <typename Value>
class Future {
 public:
  /// Copies of a callback are the same callback: remove_done_callback() finds it by that.
  using Callback = std::shared_ptr<const std::function<void(Future)>>;

  explicit Future(boost::asio::io_context& loop) : state_(std::make_shared<State>(loop)) {}

  static Callback callback(std::function<void(Future)> function) {
    return std::make_shared<const std::function<void(Future)>>(std::move(function));
  }

  /// Whether there is a result, an exception or a cancellation.
  bool done() const { return state_->value || state_->error; }
  bool cancelled() const { return state_->cancelled; }

  void set_result(Value value) {
    need(!done(), "the future is done already");
    state_->value = std::move(value);
    schedule_callbacks();
  }

  void set_exception(std::exception_ptr error) {
    need(!done(), "the future is done already");
    state_->error = std::move(error);
    schedule_callbacks();
  }

  /// Marks a pending future as cancelled; says whether it did.
  bool cancel() {
    if (done()) return false;
    state_->cancelled = true;
    set_exception(std::make_exception_ptr(Cancelled()));
    return true;
  }

  /// The value; throws the exception if there is one, Cancelled, or InvalidState while there is nothing.
  const Value& result() const {
    need(done(), "the future has no result yet");
    if (state_->error) std::rethrow_exception(state_->error);
    return *state_->value;
  }

  /// Calls `callback` through the loop, with this future, when that is done; soon, if it is done now.
  void add_done_callback(const Callback& callback) {
    state_->callbacks.push_back(callback);
    if (done()) schedule_callbacks();
  }

  /// Takes back `callback`, however often it was added, unless it is on its way already; says how often.
  std::size_t remove_done_callback(const Callback& callback) { return std::erase(state_->callbacks, callback); }

  /// Suspends a coroutine until the future is done, then gives the value or throws, as result() does. If the coroutine
  /// is cancelled meanwhile, throws operation_aborted.
  boost::asio::awaitable<Value> wait() const { return wait_for(*this); }

 private:
  struct State {
    explicit State(boost::asio::io_context& l) : loop(l) {}
    boost::asio::io_context& loop;
    std::optional<Value> value;
    std::exception_ptr error;
    bool cancelled = false;
    std::vector<Callback> callbacks;
  };

  static constexpr auto never = boost::asio::steady_timer::time_point::max();

  static void need(bool holds, const char* otherwise) {
    if (!holds) throw InvalidState(otherwise);
  }

  /// A coroutine keeps its parameters, but not its object: a Future may be gone before wait() begins to run.
  static boost::asio::awaitable<Value> wait_for(Future self) {
    if (!self.done()) {
      // Shared with the callback, which comes even if the coroutine has been given up and its frame is gone.
      const auto bell = std::make_shared<boost::asio::steady_timer>(self.state_->loop, never);
      self.add_done_callback(callback([bell](Future) { bell->cancel(); }));
      boost::system::error_code rung;
      co_await bell->async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, rung));
      if (!self.done()) throw boost::system::system_error(rung);
    }
    co_return self.result();
  }

  /// Never calls them itself: who sets a result is in the middle of something.
  void schedule_callbacks() {
    for (Callback& callback : std::exchange(state_->callbacks, {}))
      boost::asio::post(state_->loop, [self = *this, callback = std::move(callback)] { (*callback)(self); });
  }

  std::shared_ptr<State> state_;
};
