/// A stack without a lock (R. K. Treiber, 1986), with and without the ABA trap.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace atomics {

using Index = std::uint32_t;
using Word = std::uint64_t;

/// The head of a stack as the bare index of its top node. A head that was taken away and put back looks untouched.
struct BareHead {
  static Word changed(Word, Index top) { return top; }
};

/// The head as index and, in the upper half of the word, the number of changes so far. No two heads are equal.
struct CountedHead {
  static Word changed(Word old, Index top) { return ((old >> 32) + 1) << 32 | top; }
};

/// A stack of nodes 0 to `nodes` - 1, empty at first. A node is an index, not a pointer, so that a wrong one is still a
/// node of this stack. What a node holds is the caller's, and belongs to the thread that has taken the node out.
template <typename Head>
class TreiberStack {
 public:
  explicit TreiberStack(std::size_t nodes) : below_(nodes) {}

  void push(Index node) {
    // relaxed: the value is only a guess, which the compare-exchange verifies; no other node is looked at.
    Word head = head_.load(std::memory_order_relaxed);
    do {
      // relaxed: this thread still owns the node; the release below publishes the link.
      below_[node].store(top_of(head), std::memory_order_relaxed);
      // release: whoever takes the node out sees its link and what this thread has put into it.
      // On failure relaxed, as the first load: a better guess, no more. Weak, since the loop tries again anyway.
    } while (!head_.compare_exchange_weak(head, Head::changed(head, node), std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  /// Takes the top node out, none if the stack is empty. Calls `in_between` at the weak spot of each attempt: head and
  /// link have been read, and nothing has been changed yet.
  template <typename InBetween>
  std::optional<Index> pop(InBetween in_between) {
    // acquire: pairs with the release of the push that made this node the top, so that its link and content are seen.
    // Pops in between do not break the pair: a chain of read-modify-writes carries a release on.
    Word head = head_.load(std::memory_order_acquire);
    while (top_of(head) != none) {
      // relaxed: ordered by the acquire. Another thread may own the node by now and change its link, so the link is an
      // atomic; what it says is then stale, and the compare-exchange must find out.
      const Index below = below_[top_of(head)].load(std::memory_order_relaxed);
      in_between();
      // acquire, as above: if it fails, it has read a new head, whose link comes next. If it succeeds, it has read the
      // old word once more, and relaxed would do; but not every compiler takes a failure order above the other.
      // Strong, so that it fails for no other reason than a new head.
      if (head_.compare_exchange_strong(head, Head::changed(head, below), std::memory_order_acquire)) {
        return top_of(head);
      }
    }
    return std::nullopt;
  }

  std::optional<Index> pop() {
    return pop([] {});
  }

  /// The nodes from the top down, while nobody changes them. Stops one past the number of nodes: then there is a loop.
  std::vector<Index> contents() const {
    std::vector<Index> found;
    for (Index node = top_of(head_); node != none && found.size() <= below_.size(); node = below_[node]) {
      found.push_back(node);
    }
    return found;
  }

 private:
  static constexpr Index none = std::numeric_limits<Index>::max();
  static Index top_of(Word head) { return static_cast<Index>(head); }

  alignas(64) std::atomic<Word> head_ = none;
  std::vector<std::atomic<Index>> below_;  ///< for each node the one below it
};

}  // namespace atomics
