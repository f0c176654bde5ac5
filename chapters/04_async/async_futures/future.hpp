/// A future of an event loop, as asyncio has it: it hands a result, an exception or a cancellation to callbacks.
#pragma once

#include <boost/asio.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

/// Set a second time, or read too early. A class of its own: a logic_error may be the exception that was set.
struct InvalidState : std::logic_error {
  using std::logic_error::logic_error;
};

struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("the future was cancelled") {}
};

/// A value that is not there yet. Copies are the same future. It belongs to the thread of its loop, without a lock
/// (std::promise and std::future are for several threads), and must not outlive the loop, since it keeps a reference to
/// it.
template <typename Value>
class Future {
 public:
  using Callback = std::function<void(Future)>;

  explicit Future(boost::asio::io_context& loop) : state_(std::make_shared<State>(loop)) {}

  /// Whether there is a result, an exception or a cancellation.
  bool done() const { return state_->value || state_->error; }

  /// These two throw InvalidState if the future is done already; without an exception the second one has nothing to
  /// set.
  void set_result(Value value) {
    if (done()) throw InvalidState("the future is done already");
    state_->value = std::move(value);
    schedule_callbacks();
  }
  void set_exception(std::exception_ptr error) {
    if (!error) throw std::invalid_argument("set_exception: no exception");
    if (done()) throw InvalidState("the future is done already");
    state_->error = std::move(error);
    schedule_callbacks();
  }

  /// Cancels a future that is not done; returns whether it did.
  bool cancel() {
    if (done()) return false;
    set_exception(std::make_exception_ptr(Cancelled()));
    return true;
  }

  /// The result; throws the exception if there is one, Cancelled, or InvalidState if the future is not done.
  const Value& result() const {
    if (!done()) throw InvalidState("the future has no result yet");
    if (state_->error) std::rethrow_exception(state_->error);
    return *state_->value;
  }

  /// Lets the loop call `callback` with this future once it is done; soon, if it is done already.
  void add_done_callback(Callback callback) {
    state_->callbacks.push_back(std::move(callback));
    if (done()) schedule_callbacks();
  }

  /// Suspends a coroutine until the future is done; then gives its result or throws, as result() does. If the coroutine
  /// is cancelled meanwhile, throws system_error with operation_aborted.
  boost::asio::awaitable<Value> wait() const { return wait_for(*this); }

 private:
  struct State {
    explicit State(boost::asio::io_context& its_loop) : loop(its_loop) {}
    boost::asio::io_context& loop;
    std::optional<Value> value;
    std::exception_ptr error;
    std::vector<Callback> callbacks;
  };

  /// Posts them to the loop, which calls them later: whoever sets a result is not interrupted by the reactions to it.
  void schedule_callbacks() {
    for (Callback& callback : std::exchange(state_->callbacks, {})) {
      boost::asio::post(state_->loop, [self = *this, callback = std::move(callback)] { callback(self); });
    }
  }

  /// A static function with a parameter by value, which the coroutine keeps. Of the object of a member function it
  /// would keep only the address, and the object may be gone before the coroutine begins.
  static boost::asio::awaitable<Value> wait_for(Future self) {
    if (!self.done()) {
      using boost::asio::steady_timer;
      const auto bell = std::make_shared<steady_timer>(self.state_->loop, steady_timer::time_point::max());
      self.add_done_callback([bell](Future) { bell->cancel(); });
      boost::system::error_code rung;  // the error of a timer that was cancelled
      co_await bell->async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, rung));
      if (!self.done()) throw boost::system::system_error(rung);  // the coroutine was cancelled, not the timer
    }
    co_return self.result();
  }

  std::shared_ptr<State> state_;
};
