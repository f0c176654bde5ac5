/// Memory in pages of the usual size, mostly 4 KiB, or of 2 MiB.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "cookbook/posix.hpp"

/// New memory that begins at a multiple of 2 MiB; unmapped when it is destroyed.
class PagedMemory {
 public:
  /// `large` asks the system for pages of 2 MiB, which it gives if it can (Linux: transparent huge pages).
  PagedMemory(std::size_t bytes, bool large) : mapped_(bytes + page) {
    start_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start_ == MAP_FAILED) cookbook::exit_with_errno("mmap");
    data_ = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(start_) + page - 1) / page * page);
    // A system without large pages refuses this advice, and one where they are switched off ignores it. Then the memory
    // stays as it is.
    madvise(data_, bytes, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  }
  ~PagedMemory() { munmap(start_, mapped_); }
  PagedMemory(const PagedMemory&) = delete;
  PagedMemory& operator=(const PagedMemory&) = delete;

  void* data() const { return data_; }

 private:
  static constexpr std::size_t page = 2 << 20;
  std::size_t mapped_;
  void* start_;
  void* data_;
};
