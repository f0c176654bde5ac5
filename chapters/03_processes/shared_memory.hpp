/// Memory that a process shares with its children.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <utility>

#include "cookbook/posix.hpp"

/// A T in memory that this process shares with every child that it starts by fork from now on: what one of them writes,
/// all of them see. The memory has no name, and the system frees it when the last process that uses it has ended.
///
/// T must not contain pointers to memory outside of itself, so std::string and std::vector are not allowed in it. The
/// process that made the object destroys it, after its children have ended.
template <typename T>
class Shared {
 public:
  template <typename... Arguments>
  explicit Shared(Arguments&&... arguments)
      : maker_(getpid()),
        place_(check(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), "mmap")),
        value_(make(std::forward<Arguments>(arguments)...)) {}
  ~Shared() {
    if (getpid() == maker_) value_->~T();
    munmap(place_, sizeof(T));
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  template <typename... Arguments>
  T* make(Arguments&&... arguments) const {
    if constexpr (sizeof...(arguments) == 0) {
      return new (place_) T();  // T{} would refuse a member whose constructor without arguments is explicit
    } else {
      return new (place_) T{std::forward<Arguments>(arguments)...};
    }
  }

  pid_t maker_;
  void* place_;
  T* value_;
};
