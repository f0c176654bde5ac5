// Memory organisation
//
// The variable i is 10, and somebody else stores 11 in it. Does this program see that? A thread does it, a child
// process does it, a child process does it in memory that both have mapped, and a child process sends its value as a
// message. Each prints the address and the value of the i that it has. Look at the child process: the same address,
// another value.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/memory_organisation/memory_organisation.cpp common/cookbook/*.cpp -lfmt -pthread -o memory_organisation
// Run:     memory_organisation [--value N]

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"

namespace {

/// Prints which i somebody has.
void report(std::string_view who, const int& i) { cookbook::println("  {:<14}i at {} is {}", who, fmt::ptr(&i), i); }

/// Starts a child process, which runs `work` and ends. Returns its process id.
template <typename Work>
pid_t start_child(Work work) {
  const pid_t child = check(fork(), "fork");  // 0 in the child, which goes on here with a copy of the memory
  if (child != 0) return child;
  work();
  // Not exit(), which would do here what the parent will do at its end: destroy global objects, and write what is in
  // buffers.
  _exit(0);
}

/// Waits until a child has ended. Ends the program with exit code 3 if the child did not reach its end.
void wait_for(pid_t child) {
  int status = 0;
  check(waitpid(child, &status, 0), "waitpid");
  if (status == 0) return;
  cookbook::print_error("a child process has failed");
  std::exit(3);
}

int after_a_thread(int value) {
  int i = 10;
  std::jthread([&] {
    i = value;
    report("the thread", i);
  }).join();
  report("main", i);
  return i;
}

int after_a_child(int value) {
  int i = 10;
  wait_for(start_child([&] {
    i = value;  // the child's own i
    report("the child", i);
  }));
  report("the parent", i);
  return i;
}

int after_a_child_with_mapped_memory(int value) {
  // MAP_SHARED: child processes get the same memory, not a copy. MAP_ANONYMOUS: new memory, not that of a file.
  void* const memory = mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) cookbook::exit_with_errno("mmap");
  int& i = *static_cast<int*>(memory);
  i = 10;
  wait_for(start_child([&] {
    i = value;
    report("the child", i);
  }));
  report("the parent", i);
  const int seen = i;
  check(munmap(memory, sizeof(int)), "munmap");
  return seen;
}

int after_a_message(int value) {
  int i = 10;
  int ends[2];  // of a pipe: ends[0] is for reading, ends[1] for writing
  check(pipe(ends), "pipe");
  const pid_t child = start_child([&] {
    i = value;
    report("the child", i);
    check(write(ends[1], &i, sizeof i), "write");
  });
  // Or read would wait for ever if the child ended without a message.
  close(ends[1]);
  check(read(ends[0], &i, sizeof i), "read");  // waits for the message, and stores it in i
  close(ends[0]);
  wait_for(child);
  report("the parent", i);
  return i;
}

}  // namespace

int main(int argc, char** argv) {
  int value = 11;
  cookbook::Options options("Share a variable with a thread or with another process");
  options.add("value", value, "what the others store in i", -1'000'000, 1'000'000);
  options.parse(argc, argv);

  std::vector<int> seen;
  cookbook::println("a thread stores {} in i:", value);
  seen.push_back(after_a_thread(value));
  cookbook::println("a child process stores {} in i:", value);
  seen.push_back(after_a_child(value));
  cookbook::println("a child process stores {} in i, which is in mapped memory:", value);
  seen.push_back(after_a_child_with_mapped_memory(value));
  cookbook::println("a child process stores {} in i, and sends it as a message:", value);
  seen.push_back(after_a_message(value));

  cookbook::Checks checks;
  checks.equal("what main or the parent has after each of the four", seen, {value, 10, value, value});
  return checks.exit_code();
}
