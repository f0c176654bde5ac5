/// Three ways to hold a lock while a number is added, of which the first is wrong.
#pragma once

#include <mutex>
#include <string>

struct Total {
  std::mutex mutex;  // guards the value
  int value = 0;
};

// Each form adds the number in a text; an empty text adds nothing. std::stoi throws if the text begins with no number,
// or with one too large for an int.

/// Naive: `return` and an exception pass over unlock(), and the lock stays taken.
inline void naive(Total& total, const std::string& text) {
  total.mutex.lock();
  if (text.empty()) return;
  total.value += std::stoi(text);
  total.mutex.unlock();
}

/// By hand: right, but C++ has no `finally`, so unlock() stands there for each way out.
inline void by_hand(Total& total, const std::string& text) {
  total.mutex.lock();
  if (text.empty()) {
    total.mutex.unlock();
    return;
  }
  try {
    total.value += std::stoi(text);
  } catch (...) {
    total.mutex.unlock();
    throw;
  }
  total.mutex.unlock();
}

/// Scoped: the constructor of `hold` takes the lock, its destructor releases it.
inline void scoped(Total& total, const std::string& text) {
  const std::scoped_lock hold(total.mutex);
  if (text.empty()) return;
  total.value += std::stoi(text);
}
