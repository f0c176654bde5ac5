// Pitfall: a list of what is forbidden
//
// A filter is to keep a program from opening files. It forbids the system calls openat and (where there is one) open,
// by which most programs open files. Linux 5.6 brought one more, openat2, which nobody has put into the list: the
// program opens the file by it.
//
// Compile: g++ -std=c++20 -O2 chapters/07_cloud/container_limits/container_limits_denied.cpp -o container_limits_denied
// Run:     container_limits_denied
// Symptom: exit 1, prints "openat2: let through"
// Symptom under address: skipped, since the search for leaks at the end opens files

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

/// Each system call in the list gets `if_listed`, every other one `otherwise`. (A real filter checks the architecture
/// first, as the one in walls.hpp does; with a list of what is forbidden it also has to refuse the numbers from
/// 0x40000000 on, by which x86-64 may take the same calls once more.)
void install_filter(const std::vector<unsigned>& list, unsigned if_listed, unsigned otherwise) {
  std::vector<sock_filter> filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const unsigned number : list) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, if_listed));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, otherwise));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::perror("seccomp");
    std::exit(77);
  }
}

bool opened(const char* call, long result) {
  const bool yes = result >= 0 || errno != EPERM;  // another error would mean that the filter has let it through
  std::printf("%s: %s\n", call, yes ? "let through" : "refused");
  return yes;
}

}  // namespace

int main() {
  const open_how how = {.flags = O_RDONLY, .mode = 0, .resolve = 0};
  std::printf("before the filter\n");  // makes the buffer of stdout
  std::vector<unsigned> list = {SYS_openat};
#ifdef SYS_open
  list.push_back(SYS_open);
#endif
  constexpr unsigned refuse = SECCOMP_RET_ERRNO | EPERM;
  install_filter(list, refuse, SECCOMP_RET_ALLOW);  // wrong: whatever is not in the list is allowed
  const bool by_openat = opened("openat", syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY));
  const bool by_openat2 = opened("openat2", syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &how, sizeof how));
  return by_openat || by_openat2 ? 1 : 0;
}
