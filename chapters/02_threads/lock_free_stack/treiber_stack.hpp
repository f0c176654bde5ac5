/// A stack without a lock (R. K. Treiber, 1986), with and without the ABA problem.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

using Node = std::uint32_t;  ///< a node's number

enum class Head {
  bare,     ///< the top node's number alone: broken, see the page
  counted,  ///< the top node's number, and how often the head has been changed
};

/// A stack of the nodes 0 to `nodes` - 1; it is empty at first. What a node contains is stored elsewhere, and belongs
/// to the thread that has taken the node out.
template <Head kind>
class TreiberStack {
 public:
  explicit TreiberStack(std::size_t nodes) : below_(nodes) {}

  /// Puts `node` on top; it must not be in the stack.
  void push(Node node) {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      below_[node].store(top_of(head), std::memory_order_relaxed);
      // release: who takes the node out sees its link and contents. relaxed, if it fails: only the value is used.
    } while (!head_.compare_exchange_strong(head, next_head(head, node), std::memory_order_release,
                                            std::memory_order_relaxed));
  }

  /// Takes the top node out; nothing if the stack is empty. Calls `in_between` in each attempt when it has read the
  /// head and the node below it, and has changed nothing yet.
  template <typename InBetween>
  std::optional<Node> pop(InBetween in_between) {
    std::uint64_t head = head_.load(std::memory_order_acquire);  // acquire: sees what the node's push has released
    while (top_of(head) != none) {
      const Node below = below_[top_of(head)].load(std::memory_order_relaxed);
      in_between();
      // If it fails, it has loaded the present head into `head`: an acquire as well, for the next attempt.
      if (head_.compare_exchange_strong(head, next_head(head, below), std::memory_order_acquire)) return top_of(head);
    }
    return std::nullopt;
  }

  std::optional<Node> pop() {
    return pop([] {});
  }

  /// The head as it is stored: the top node in the lower 32 bits, and of a counted head the changes in the upper ones.
  std::uint64_t head() const { return head_; }

  /// The nodes from the top down, while no other thread changes them. Stops if the list has become a ring.
  std::vector<Node> contents() const {
    std::vector<Node> found;
    for (Node node = top_of(head_); node != none && found.size() <= below_.size(); node = below_[node]) {
      found.push_back(node);
    }
    return found;
  }

 private:
  static constexpr Node none = std::numeric_limits<Node>::max();

  static Node top_of(std::uint64_t head) { return static_cast<Node>(head); }
  static std::uint64_t next_head(std::uint64_t head, Node top) {
    return kind == Head::bare ? top : (((head >> 32) + 1) << 32) | top;
  }

  std::atomic<std::uint64_t> head_ = none;
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // else the library would take a lock
  // For each node the one below it. Atomic, as a slow thread may read it while another one pushes the node again.
  std::vector<std::atomic<Node>> below_;
};
