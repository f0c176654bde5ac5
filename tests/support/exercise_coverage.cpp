// Linked with a learner's program whose lines are counted (GCC's -fprofile-arcs): a process that ends by _exit, as many
// a child does, or becomes another program, also writes down which lines it has executed.

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <vector>

extern "C" void __gcov_dump();
extern "C" void __gcov_reset();

namespace {

void write_down() {
  __gcov_dump();
  __gcov_reset();  // so that nothing is counted twice if the process goes on
}

/// The arguments behind `first`, up to the null pointer.
std::vector<char*> listed(const char* first, va_list& rest) {
  std::vector<char*> arguments;
  for (char* one = const_cast<char*>(first); one != nullptr; one = va_arg(rest, char*)) arguments.push_back(one);
  arguments.push_back(nullptr);
  return arguments;
}

}  // namespace

extern "C" [[noreturn]] void _exit(int code) {
  write_down();
  for (;;) syscall(SYS_exit_group, code);
}

extern "C" int execv(const char* path, char* const arguments[]) {
  write_down();
  return execve(path, arguments, environ);
}

extern "C" int execvp(const char* file, char* const arguments[]) {
  static const auto real = reinterpret_cast<decltype(&execvp)>(dlsym(RTLD_NEXT, "execvp"));
  write_down();
  return real(file, arguments);
}

extern "C" int execl(const char* path, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  const int result = execv(path, listed(first, rest).data());
  va_end(rest);
  return result;
}

extern "C" int execlp(const char* file, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  const int result = execvp(file, listed(first, rest).data());
  va_end(rest);
  return result;
}
