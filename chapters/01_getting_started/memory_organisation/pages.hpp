/// Memory straight from the system, in pages of a size of one's choice.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include "cookbook/system_check.hpp"

enum class Pages { small, huge };

/// So many bytes, zero, which become real memory page by page when they are first touched.
class Memory {
 public:
  Memory(std::size_t bytes, Pages pages)
      : mapped_(bytes + huge_page),
        whole_(check(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), "mmap")) {
    // A huge page begins at a multiple of its size.
    const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(whole_);
    begin_ = static_cast<std::byte*>(whole_) + (huge_page - place % huge_page) % huge_page;
    // A wish: a system without huge pages refuses it, a system short of them grants it in part. See huge_bytes().
    (void)madvise(begin_, bytes, pages == Pages::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  }
  ~Memory() { munmap(whole_, mapped_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* begin() const { return begin_; }

 private:
  static constexpr std::size_t huge_page = 2 << 20;
  std::size_t mapped_;
  void* whole_;
  std::byte* begin_;
};

/// How much of this process's memory lies in huge pages now.
inline std::size_t huge_bytes() {
  std::ifstream summary("/proc/self/smaps_rollup");
  std::size_t kibibytes = 0;
  for (std::string word; summary >> word;) {
    if (word == "AnonHugePages:") summary >> kibibytes;
  }
  return kibibytes << 10;
}
