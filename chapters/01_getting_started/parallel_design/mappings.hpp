/// Mappings: which worker does which task. The same code serves threads and the run on paper.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "job.hpp"

/// A task, and whom the worker had to ask to get it, in order: nobody if it had the task already.
struct Grant {
  Task task;
  std::vector<std::size_t> asked = {};
};

class Mapping {
 public:
  virtual ~Mapping() = default;

  /// The next task of this worker; nothing if there is none for it any more. Workers may call it at the same time.
  virtual std::optional<Grant> next(std::size_t worker) = 0;
};

using Tasks = std::deque<Task>;

inline std::optional<Task> take_first(Tasks& tasks) {
  if (tasks.empty()) return std::nullopt;
  const Task task = tasks.front();
  tasks.pop_front();
  return task;
}

/// Static: each worker's list is made before the run. Nobody asks anybody.
class OwnLists : public Mapping {
 public:
  explicit OwnLists(std::vector<Tasks> lists) : lists_(std::move(lists)) {}

  std::optional<Grant> next(std::size_t worker) override {
    if (const auto task = take_first(lists_[worker])) return Grant{*task};
    return std::nullopt;
  }

 private:
  std::vector<Tasks> lists_;
};

/// Neighbours belong together: of 4 workers, worker 1 has the second quarter of the tasks.
inline std::vector<Tasks> in_blocks(const std::vector<Task>& tasks, std::size_t workers) {
  std::vector<Tasks> lists(workers);
  for (std::size_t t = 0; t < tasks.size(); ++t) lists[t * workers / tasks.size()].push_back(tasks[t]);
  return lists;
}

/// Dealt out like cards: of 4 workers, worker 1 has the tasks 1, 5, 9, ...
inline std::vector<Tasks> in_turns(const std::vector<Task>& tasks, std::size_t workers) {
  std::vector<Tasks> lists(workers);
  for (std::size_t t = 0; t < tasks.size(); ++t) lists[t % workers].push_back(tasks[t]);
  return lists;
}

/// Manager and workers: one pool, and whoever is idle asks for the next task.
class Manager : public Mapping {
 public:
  explicit Manager(const std::vector<Task>& tasks) : pool_(tasks.begin(), tasks.end()) {}

  std::optional<Grant> next(std::size_t) override {
    std::scoped_lock hold(guard_);
    if (const auto task = take_first(pool_)) return Grant{*task, {0}};
    return std::nullopt;
  }

 private:
  std::mutex guard_;
  Tasks pool_;
};

/// A manager for each group of workers, and one above them, who gives a group its share of half of what is left.
class Hierarchy : public Mapping {
 public:
  Hierarchy(const std::vector<Task>& tasks, std::size_t workers, std::size_t group_size)
      : pool_(tasks.begin(), tasks.end()), group_size_(group_size), groups_((workers + group_size - 1) / group_size) {}

  std::optional<Grant> next(std::size_t worker) override {
    const std::size_t number = worker / group_size_;
    Group& group = groups_[number];
    std::scoped_lock hold(group.guard);
    Grant grant;
    if (group.pool.empty()) {
      std::scoped_lock hold_top(guard_);
      grant.asked.push_back(0);  // by the manager of the group, who can only then answer
      const std::size_t share = (pool_.size() + 2 * groups_.size() - 1) / (2 * groups_.size());
      for (std::size_t i = 0; i < share; ++i) group.pool.push_back(*take_first(pool_));
    }
    const auto task = take_first(group.pool);
    if (!task) return std::nullopt;
    grant.task = *task;
    grant.asked.push_back(number + 1);
    return grant;
  }

 private:
  struct Group {
    std::mutex guard;
    Tasks pool;
  };
  std::mutex guard_;
  Tasks pool_;
  std::size_t group_size_;
  std::vector<Group> groups_;
};

/// Decentralised: each worker has a pool of its own, at first a block. Who is idle asks others, from a random one on,
/// and takes half of what the first has that has any, from the far end.
class Stealing : public Mapping {
 public:
  Stealing(const std::vector<Task>& tasks, std::size_t workers) : owners_(workers) {
    const std::vector<Tasks> blocks = in_blocks(tasks, workers);
    for (std::size_t w = 0; w < workers; ++w) {
      owners_[w].pool = blocks[w];
      owners_[w].random.seed(static_cast<unsigned>(w + 1));
    }
  }

  std::optional<Grant> next(std::size_t worker) override {
    Owner& own = owners_[worker];
    {
      std::scoped_lock hold(own.guard);
      if (const auto task = take_first(own.pool)) return Grant{*task};
    }
    Grant grant;
    const std::size_t start = own.random() % owners_.size();
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      const std::size_t victim = (start + i) % owners_.size();
      if (victim == worker) continue;
      grant.asked.push_back(victim);
      Tasks loot = half_of(owners_[victim]);  // one lock at a time: two thieves never wait for each other
      const auto task = take_first(loot);
      if (!task) continue;
      std::scoped_lock hold(own.guard);
      own.pool = std::move(loot);
      grant.task = *task;
      return grant;
    }
    return std::nullopt;
  }

 private:
  struct Owner {
    std::mutex guard;
    Tasks pool;
    std::minstd_rand random;  // used by the owner alone
  };

  static Tasks half_of(Owner& victim) {
    std::scoped_lock hold(victim.guard);
    const auto middle = victim.pool.begin() + static_cast<std::ptrdiff_t>(victim.pool.size() / 2);
    Tasks loot(middle, victim.pool.end());
    victim.pool.erase(middle, victim.pool.end());
    return loot;
  }

  std::vector<Owner> owners_;
};

/// A mapping that can be made for any tasks and any number of workers.
struct Scheme {
  std::string_view name;
  bool is_static;
  std::function<std::unique_ptr<Mapping>(const std::vector<Task>& tasks, std::size_t workers)> make;
};

inline std::vector<Scheme> schemes() {
  using std::make_unique;
  return {{"static, in blocks", true,
           [](auto& tasks, auto workers) { return make_unique<OwnLists>(in_blocks(tasks, workers)); }},
          {"static, in turns", true,
           [](auto& tasks, auto workers) { return make_unique<OwnLists>(in_turns(tasks, workers)); }},
          {"manager and workers", false, [](auto& tasks, auto) { return make_unique<Manager>(tasks); }},
          {"managers of groups", false,
           [](auto& tasks, auto workers) { return make_unique<Hierarchy>(tasks, workers, 8); }},
          {"work stealing", false, [](auto& tasks, auto workers) { return make_unique<Stealing>(tasks, workers); }}};
}
