// Right and wrong uses of a guarded variable
//
// Twelve functions of a class with a variable that a mutex protects. thread_safety_analysis.cpp lets Clang judge them;
// the word at the end of a function's first line says whether it is right. GCC compiles all of them.
//
// Compile: clang++ -std=c++20 -fsyntax-only -Wthread-safety -Ichapters/09_diagnosis/thread_safety_analysis chapters/09_diagnosis/thread_safety_analysis/cases.cpp

#include "annotated_mutex.hpp"

class Account {
 public:
  void locked(long amount) {  // right
    Lock lock(mutex_);
    add(amount);
  }
  void forgotten(long amount) {  // wrong
    balance_ += amount;
  }
  void add_without_lock(long amount) {  // wrong
    add(amount);
  }
  bool early_return(long amount) {  // wrong
    mutex_.lock();
    if (balance_ < amount) return false;
    balance_ -= amount;
    mutex_.unlock();
    return true;
  }
  void wrong_mutex(Account& other) {  // wrong
    Lock lock(mutex_);
    other.balance_ += 1;
  }
  void locked_twice(long amount) {  // wrong
    Lock lock(mutex_);
    locked_inside(amount);
  }
  void locked_inside(long amount) EXCLUDES(mutex_) {  // right
    Lock lock(mutex_);
    balance_ += amount;
  }
  long* pointer_returned() {  // wrong
    Lock lock(mutex_);
    return &balance_;
  }
  void through_pointer(long amount) {  // wrong
    long* const balance = &balance_;
    *balance += amount;
  }
  void in_opposite_order(Account& other) {  // wrong
    Lock mine(mutex_);
    Lock theirs(other.mutex_);
    other.balance_ += balance_;
  }
  void in_a_lambda(long amount) {  // right
    Lock lock(mutex_);
    const auto change = [&] { balance_ += amount; };
    change();
  }
  void if_wanted(bool shared) {  // right
    if (shared) mutex_.lock();
    if (shared) balance_ += 1;
    if (shared) mutex_.unlock();
  }

 private:
  void add(long amount) REQUIRES(mutex_) { balance_ += amount; }

  Mutex mutex_;
  long balance_ GUARDED_BY(mutex_) = 0;
};
