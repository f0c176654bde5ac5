// Loaded before a program by LD_PRELOAD, when ThreadSanitizer has reported that locks are taken in different orders:
// finds out whether that can end in a deadlock. Writes a line "inversion" to the file that COOKBOOK_EXERCISE_RECORD
// names if two or more threads take locks in a circle and no further lock, which all of them hold meanwhile, keeps them
// from doing so at the same time. (K. Havelund, "Using runtime analysis to guide model checking of Java programs",
// 2000, calls this a gate lock. ThreadSanitizer does not look for it.)

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "interposer.hpp"

namespace {

using Lock = const void*;

/// A thread has asked for `wanted` while it held `held`, and the other ones in `gates`.
struct Step {
  int thread;
  Lock held, wanted;
  std::set<Lock> gates;
  auto operator<=>(const Step&) const = default;
};

std::atomic_flag busy;  // protects what follows; a mutex would come here again
std::set<Step>* steps = nullptr;
bool found = false;
std::atomic<int> threads = 0;

/// What this thread holds. It is no longer there when the thread's destructors have run.
struct Held {
  int thread = ++threads;
  std::vector<Lock> locks;
  Held() { there = true; }
  ~Held() { there = false; }
  static thread_local bool there, inside;
};
thread_local bool Held::there = true, Held::inside = false;
thread_local Held held;

bool apart(const std::set<Lock>& one, const std::set<Lock>& other) {
  std::vector<Lock> both;
  std::ranges::set_intersection(one, other, std::back_inserter(both));
  return both.empty();
}

/// Whether steps of different threads without a common gate lead from the end of the path back to its beginning.
bool closes(std::vector<const Step*>& path) {
  for (const Step& next : *steps) {
    if (next.held != path.back()->wanted) continue;
    if (std::ranges::any_of(path, [&](const Step* one) {
          return one->thread == next.thread || one->wanted == next.wanted || !apart(one->gates, next.gates);
        })) {
      continue;
    }
    path.push_back(&next);
    if (next.wanted == path.front()->held || (path.size() < 6 && closes(path))) return true;
    path.pop_back();
  }
  return false;
}

void asks_for(Lock wanted) {
  if (!Held::there || Held::inside || held.locks.empty()) return;
  Held::inside = true;
  while (busy.test_and_set(std::memory_order_acquire)) {
  }
  if (steps == nullptr) steps = new std::set<Step>;
  for (const Lock lock : held.locks) {
    if (lock == wanted || found || steps->size() > 2000) continue;
    Step step{held.thread, lock, wanted, std::set<Lock>(held.locks.begin(), held.locks.end())};
    step.gates.erase(lock);
    const auto [place, is_new] = steps->insert(std::move(step));
    std::vector<const Step*> path = {&*place};
    if (is_new && closes(path)) {
      found = true;
      record("inversion");
    }
  }
  busy.clear(std::memory_order_release);
  Held::inside = false;
}

void has(Lock lock) {
  if (Held::there && !Held::inside) held.locks.push_back(lock);
}

void gives_back(Lock lock) {
  if (!Held::there || Held::inside) return;
  const auto last = std::find(held.locks.rbegin(), held.locks.rend(), lock);
  if (last != held.locks.rend()) held.locks.erase(std::next(last).base());
}

}  // namespace

/// A function that waits for a lock, or, with `asks` false, tries to get it.
#define TAKES(name, type, asks)                                                   \
  extern "C" int pthread_##name(pthread_##type##_t* lock) {                       \
    static const auto real = hidden<decltype(&pthread_##name)>("pthread_" #name); \
    if (asks) asks_for(lock);                                                     \
    const int result = real(lock);                                                \
    if (result == 0) has(lock);                                                   \
    return result;                                                                \
  }

TAKES(mutex_lock, mutex, true)
TAKES(mutex_trylock, mutex, false)
TAKES(rwlock_rdlock, rwlock, true)
TAKES(rwlock_wrlock, rwlock, true)
TAKES(rwlock_tryrdlock, rwlock, false)
TAKES(rwlock_trywrlock, rwlock, false)

extern "C" int pthread_mutex_unlock(pthread_mutex_t* lock) {
  static const auto real = hidden<decltype(&pthread_mutex_unlock)>("pthread_mutex_unlock");
  gives_back(lock);
  return real(lock);
}

extern "C" int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  static const auto real = hidden<decltype(&pthread_rwlock_unlock)>("pthread_rwlock_unlock");
  gives_back(lock);
  return real(lock);
}
