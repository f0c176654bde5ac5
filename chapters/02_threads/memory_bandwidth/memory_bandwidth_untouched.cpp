// Pitfall: the memory that is read was never written
//
// This program reads an array of 256 MiB, as if to find out how fast memory is read. But mmap() only reserves
// addresses. The system gives memory to a page when the page is written for the first time; until then all pages show
// the same page of zeros, which stays in the cache. So a measurement of this loop tells nothing about the memory.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/memory_bandwidth/memory_bandwidth_untouched.cpp -o memory_bandwidth_untouched
// Run:     memory_bandwidth_untouched
// Symptom: exit 1, prints "most of the 256 MiB that were read are not in memory"
// Symptom under thread: skipped, the memory of the sanitizer counts, too

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <span>

/// How much memory this process has, in MiB.
long resident_mib() {
  long addresses = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> addresses >> pages;
  return pages * sysconf(_SC_PAGESIZE) >> 20;
}

int main() {
  const long before = resident_mib();
  constexpr std::size_t bytes = 256 << 20;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 3;
  const std::span numbers(static_cast<std::uint32_t*>(memory), bytes / sizeof(std::uint32_t));

  const std::uint32_t sum = std::accumulate(numbers.begin(), numbers.end(), 0U);
  const long mib = resident_mib() - before;
  std::printf("sum %u of 256 MiB, of which %ld MiB are in memory\n", sum, mib);
  if (mib >= 128) return 0;
  std::puts("most of the 256 MiB that were read are not in memory");
  return 1;
}
