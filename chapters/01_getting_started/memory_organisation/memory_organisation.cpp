// Memory organisation
//
// The variable i is 10. Somebody else stores 11 in it: does this program see that? Yes, if that was a thread, because
// threads share all memory of their process. No, if it was a child process, because that has a copy of the memory. Yes
// again, if both processes use memory that was mapped as shared before the fork, or if the child sends its value as a
// message.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/memory_organisation/memory_organisation.cpp common/cookbook/*.cpp -lfmt -pthread -o memory_organisation
// Run:     memory_organisation [--value N]

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"

namespace {

/// Starts a child process, which runs `work` and ends. Returns its process id.
template <typename Work>
pid_t start_child(Work work) {
  const pid_t child = check(fork(), "fork");  // 0 in the child, which goes on here with a copy of all memory
  if (child != 0) return child;
  work();
  // Not exit(), which would run what is the parent's: destructors, and the writing of buffers. (println has none.)
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
  std::jthread([&] { i = value; }).join();
  return i;
}

int after_a_child(int value) {
  int i = 10;
  wait_for(start_child([&] {
    i = value;  // the child's own i
    cookbook::println("in the child, i is {}", i);
  }));
  return i;
}

int after_a_child_with_mapped_memory(int value) {
  // MAP_SHARED: child processes get the same memory, not a copy. MAP_ANONYMOUS: new memory, not that of a file.
  void* const memory = mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) cookbook::exit_with_errno("mmap");
  int& i = *static_cast<int*>(memory);
  i = 10;
  wait_for(start_child([&] { i = value; }));
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
    check(write(ends[1], &i, sizeof i), "write");
  });
  close(ends[1]);  // or read would wait for ever if the child ended without a message
  if (check(read(ends[0], &i, sizeof i), "read") != sizeof i) i = -1;  // waits for the message, and stores it in i
  wait_for(child);
  close(ends[0]);
  return i;
}

}  // namespace

int main(int argc, char** argv) {
  int value = 11;
  cookbook::Options options("See whose writes this program sees");
  options.add("value", value, "what the others store in i", -1'000'000, 1'000'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  checks.equal("i after a thread has stored to it", after_a_thread(value), value);
  checks.equal("i after a child process has stored to its copy", after_a_child(value), 10);
  checks.equal("i after a child process has stored to mapped memory", after_a_child_with_mapped_memory(value), value);
  checks.equal("i after a child process has sent its value", after_a_message(value), value);
  return checks.exit_code();
}
