/// A connection that sends many small messages by one system call.
#pragma once

#include <kj/async-io.h>
#include <kj/timer.h>

#include <algorithm>
#include <vector>

/// Cap'n Proto writes each message when it is made, and reads one at a time. Here what is written is kept until the
/// event loop has nothing else to do, and then goes out as one batch; and all that has arrived is read at once.
class BufferedStream : public kj::AsyncIoStream {
 public:
  explicit BufferedStream(kj::Own<kj::AsyncIoStream>&& inner) : inner_(kj::mv(inner)) {}

  /// From now on holds each batch back for so long, as if the other side were far away.
  void move_away(kj::Timer& timer, kj::Duration distance) {
    timer_ = &timer;
    distance_ = distance;
  }

  /// How many batches have left.
  long batches_sent() const { return batches_; }

  kj::Promise<size_t> tryRead(void* buffer, size_t min_bytes, size_t max_bytes) override {
    const size_t count = std::min(max_bytes, arrived_ - taken_);
    std::copy_n(incoming_.data() + taken_, count, static_cast<kj::byte*>(buffer));
    taken_ += count;
    if (count >= min_bytes) return count;
    const auto rest = static_cast<kj::byte*>(buffer) + count;
    if (max_bytes - count >= incoming_.size()) {
      return inner_->tryRead(rest, min_bytes - count, max_bytes - count).then([count](size_t more) {
        return count + more;
      });
    }
    return inner_->tryRead(incoming_.data(), min_bytes - count, incoming_.size())
        .then([this, count, rest, wanted = max_bytes - count](size_t arrived) {
          arrived_ = arrived;
          taken_ = std::min(wanted, arrived);
          std::copy_n(incoming_.data(), taken_, rest);
          return count + taken_;
        });
  }

  kj::Promise<void> write(const void* data, size_t size) override {
    const auto bytes = static_cast<const kj::byte*>(data);
    const kj::ArrayPtr<const kj::byte> piece(bytes, size);
    return write(kj::arrayPtr(&piece, 1));
  }

  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    for (const auto& piece : pieces) waiting_.insert(waiting_.end(), piece.begin(), piece.end());
    if (!flushing_) {
      flushing_ = true;
      flushed_ = kj::evalLast([this] { return flush(); }).fork();
    }
    // The writer need not wait, unless the other side does not read.
    if (waiting_.size() < enough) return kj::READY_NOW;
    return flushed_.addBranch();
  }

  kj::Promise<void> whenWriteDisconnected() override { return inner_->whenWriteDisconnected(); }

  void shutdownWrite() override {
    last_ = flushed_.addBranch().then([this] { inner_->shutdownWrite(); }).eagerlyEvaluate([](kj::Exception&&) {});
  }

 private:
  static constexpr size_t enough = 1 << 20;

  kj::Promise<void> flush() {
    if (!timer_) return send();
    return timer_->afterDelay(distance_).then([this] { return send(); });
  }

  kj::Promise<void> send() {
    ++batches_;
    leaving_.clear();
    leaving_.swap(waiting_);
    return inner_->write(leaving_.data(), leaving_.size()).then([this]() -> kj::Promise<void> {
      if (!waiting_.empty()) return flush();
      flushing_ = false;
      return kj::READY_NOW;
    });
  }

  kj::Own<kj::AsyncIoStream> inner_;
  std::vector<kj::byte> incoming_ = std::vector<kj::byte>(1 << 16);
  size_t arrived_ = 0, taken_ = 0;           ///< how much of incoming_ is filled, and handed on
  std::vector<kj::byte> waiting_, leaving_;  ///< written by the user; on its way
  long batches_ = 0;
  bool flushing_ = false;
  kj::ForkedPromise<void> flushed_ = kj::Promise<void>(kj::READY_NOW).fork();
  kj::Promise<void> last_ = kj::READY_NOW;
  kj::Timer* timer_ = nullptr;
  kj::Duration distance_ = 0 * kj::MILLISECONDS;
};
