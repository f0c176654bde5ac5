/// Mapping: which worker does which task. Four ways, all of which are lists of tasks that wait.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "job.hpp"

enum class Way { block, cyclic, one_queue, work_stealing };

/// The list in which task number `t` waits at the start.
inline std::size_t list_of(Way way, std::size_t t, std::size_t tasks, std::size_t workers) {
  if (way == Way::cyclic) return t % workers;  // dealt out in turn
  if (way == Way::one_queue) return 0;         // one list, from which all workers take
  return t * workers / tasks;                  // neighbours together; work stealing begins like this, too
}

/// Hands out each task once. Several workers may call next() at the same time.
class Mapping {
 public:
  Mapping(Way way, const std::vector<Task>& tasks, std::size_t workers) : way_(way), lists_(workers) {
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      lists_[list_of(way, t, tasks.size(), workers)].waiting.push_back(tasks[t]);
    }
  }

  /// The next task of this worker; nothing if there is none for it any more.
  std::optional<Task> next(std::size_t worker) {
    const std::size_t own = way_ == Way::one_queue ? 0 : worker;  // one list for all, or one each
    if (const auto task = lists_[own].take_first()) return task;
    if (way_ != Way::work_stealing) return std::nullopt;
    for (List& victim : lists_) {
      if (const auto task = victim.take_last()) return task;
    }
    return std::nullopt;
  }

 private:
  struct List {
    std::mutex mutex;
    std::deque<Task> waiting;

    std::optional<Task> take_first() {
      const std::scoped_lock lock(mutex);
      if (waiting.empty()) return std::nullopt;
      const Task task = waiting.front();
      waiting.pop_front();
      return task;
    }

    /// From the other end: the owner's next tasks stay with the owner.
    std::optional<Task> take_last() {
      const std::scoped_lock lock(mutex);
      if (waiting.empty()) return std::nullopt;
      const Task task = waiting.back();
      waiting.pop_back();
      return task;
    }
  };

  Way way_;
  std::vector<List> lists_;
};
