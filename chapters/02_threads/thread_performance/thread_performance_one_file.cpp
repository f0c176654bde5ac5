// Pitfall: all threads read from one open file
//
// Four threads each want the whole file. But an open file has one position, which every read moves, whoever makes it.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/thread_performance/thread_performance_one_file.cpp -pthread -o thread_performance_one_file
// Run:     thread_performance_one_file
// Symptom: exit 1, prints "the 4 threads together read 1024000 bytes, expected 4096000"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <latch>
#include <string>
#include <thread>
#include <vector>

int main() {
  std::FILE* const file = std::tmpfile();
  const std::string content(1'024'000, 'x');
  if (file == nullptr || std::fwrite(content.data(), 1, content.size(), file) != content.size()) return 3;
  std::fflush(file);
  lseek(fileno(file), 0, SEEK_SET);

  std::atomic<long> bytes = 0;
  std::latch start(4);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();  // all begin at the same time
      char block[1024];
      for (ssize_t n; (n = read(fileno(file), block, sizeof block)) > 0;) bytes += n;  // wrong: the same file
    });
  }
  threads.clear();  // waits for them

  std::printf("the 4 threads together read %ld bytes, expected %zu\n", bytes.load(), 4 * content.size());
  return bytes == static_cast<long>(4 * content.size()) ? 0 : 1;
}
