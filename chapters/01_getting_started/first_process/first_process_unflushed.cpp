// Pitfall: the output is not flushed before execvp
//
// The program writes a line into a log file and replaces itself by a shell, which looks at the log. It is empty: the
// line was still in a buffer in the program's memory, and execvp replaces this memory.
//
// Compile: g++ -std=c++20 -O2 chapters/01_getting_started/first_process/first_process_unflushed.cpp -o first_process_unflushed
// Run:     first_process_unflushed
// Symptom: exit 1, prints "the log is empty"

#include <unistd.h>

#include <cstdio>

int main() {
  std::FILE* const log = std::tmpfile();
  if (log == nullptr) return 3;
  std::fputs("Process calling\n", log);
  // missing: std::fflush(log);
  if (dup2(fileno(log), STDIN_FILENO) == -1) return 3;  // the shell reads the log as its standard input
  // execlp is execvp with the arguments one by one. test -s: is the file longer than 0 bytes?
  execlp("sh", "sh", "-c", "test -s /dev/stdin || { echo 'the log is empty'; exit 1; }; cat /dev/stdin", nullptr);
  std::perror("execlp");
  return 3;
}
