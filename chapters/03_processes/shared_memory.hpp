/// Memory that a process shares with its children.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <utility>

#include "cookbook/system_check.hpp"

/// A T in memory that this process shares with every child that it makes by fork from now on: what one writes, all see.
/// The mapping has no name, so it is gone with the last process that has it, and nothing can be left behind.
///
/// T must hold no pointer to memory outside itself. The process that made it destroys it; it does so after its children
/// have ended.
template <typename T>
class Shared {
 public:
  template <typename... Arguments>
  explicit Shared(Arguments&&... arguments)
      : maker_(getpid()),
        place_(check(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), "mmap")),
        value_(new (place_) T{std::forward<Arguments>(arguments)...}) {}
  ~Shared() {
    if (getpid() == maker_) value_->~T();
    munmap(place_, sizeof(T));
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  pid_t maker_;
  void* place_;
  T* value_;
};
