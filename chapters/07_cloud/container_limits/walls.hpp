/// What keeps the processes of a container in it, one wall each. All functions but the cgroup's are called in the first
/// process of the container; they throw std::system_error if the system refuses.
#pragma once

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

/// Throws if `result`, what the system call `call` gave, is -1.
inline void must(long result, const char* call) {
  if (result == -1) throw std::system_error(errno, std::generic_category(), call);
}

/// The weak form: `folder` is looked up as "/" from now on. The old root directory is still there.
inline void change_root(const std::string& folder) {
  must(chdir(folder.c_str()), "chdir");
  must(chroot("."), "chroot");
}

/// The strong form, in a namespace of mounts: `folder` becomes the root of the file system, and the old root goes.
inline void pivot_root(const std::string& folder) {
  must(mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND | MS_REC, nullptr), "mount");  // it has to be a mount
  must(chdir(folder.c_str()), "chdir");
  must(syscall(SYS_pivot_root, ".", "."), "pivot_root");  // the old root is now on top of the new one
  must(umount2(".", MNT_DETACH), "umount2");
  must(chdir("/"), "chdir");
}

/// Takes all rights of root from this process, and no program that it executes gets one back. Its user is still root.
/// (A new namespace of users would give all of them again, inside of it.)
inline void drop_capabilities() {
  for (unsigned long one = 0; prctl(PR_CAPBSET_READ, one, 0, 0, 0) >= 0; ++one) {
    must(prctl(PR_CAPBSET_DROP, one, 0, 0, 0), "prctl");  // so that no program can give it back
  }
  __user_cap_header_struct version = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  must(syscall(SYS_capset, &version, none), "capset");
}

/// Allows these system calls; every other one fails with EPERM, and one by the numbers of another architecture kills
/// the process. The kernel runs this little program at each call.
inline void allow_system_calls(const std::vector<unsigned>& allowed) {
#if defined(__x86_64__)
  constexpr unsigned architecture = AUDIT_ARCH_X86_64;
#else
  constexpr unsigned architecture = AUDIT_ARCH_AARCH64;
#endif
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0),  // other numbers mean other calls: the next line
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const unsigned number : allowed) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));  // if it is another one, skip a line
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl");  // else no filter without CAP_SYS_ADMIN
  must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), "seccomp");
}

/// The system calls that the attacks of container_limits need in order to run at all.
inline const std::vector<unsigned> needed = {
#ifdef SYS_fork
    SYS_fork,      SYS_open,     SYS_mkdir,  SYS_pause,   SYS_poll,
#endif
    SYS_clone,     SYS_clone3,   SYS_openat, SYS_mkdirat, SYS_chdir, SYS_write,          SYS_mmap,
    SYS_munmap,    SYS_mprotect, SYS_brk,    SYS_madvise, SYS_ppoll, SYS_rt_sigprocmask, SYS_set_robust_list,
    SYS_rseq,      SYS_gettid,   SYS_getpid, SYS_futex,   SYS_wait4, SYS_sigaltstack,    SYS_exit,
    SYS_exit_group};

struct Limits {
  int processes;
  long bytes;
};

/// The group of a process for a controller of version 1, as a path below the controller's folder; empty if the list,
/// such as /proc/self/cgroup, does not name this controller.
inline std::string group_of(const std::filesystem::path& list, const std::string& controller) {
  std::ifstream file(list);
  for (std::string line; std::getline(file, line);) {  // such as 8:pids:/a/b
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (line.substr(first + 1, second - first - 1) == controller) return line.substr(second + 2);
  }
  return "";
}

/// A control group (cgroup): limits for all processes in it together. A group is a folder, and its limits are files. It
/// is removed with this object; its processes must have ended by then.
class ControlGroup {
 public:
  /// `top` is where the system shows its cgroups. Throws std::system_error if this process may make none there.
  ControlGroup(const std::string& name, const Limits& limits, const std::filesystem::path& top = "/sys/fs/cgroup") {
    const std::string processes = std::to_string(limits.processes), bytes = std::to_string(limits.bytes);
    if (std::filesystem::exists(top / "cgroup.controllers")) {           // version 2: one tree for all controllers
      std::ofstream(top / "cgroup.subtree_control") << "+pids +memory";  // there already on most systems; they stay
      make(top / name, {{"pids.max", processes}, {"memory.max", bytes}});
      std::ofstream(folders_[0] / "memory.swap.max") << 0;  // this file does not exist if there is no swap
    } else {
      const std::filesystem::path own = "/proc/self/cgroup";
      make(top / "pids" / group_of(own, "pids") / name, {{"pids.max", processes}});
      make(top / "memory" / group_of(own, "memory") / name, {{"memory.limit_in_bytes", bytes}});
    }
  }
  ~ControlGroup() {
    for (const auto& folder : folders_) rmdir(folder.c_str());
  }
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  /// Puts the calling process into the group; its children will be in it, too.
  void enter() const {
    for (const auto& folder : folders_) write(folder / "cgroup.procs", "0");
  }

 private:
  struct Setting {
    const char* file;
    std::string value;
  };

  void make(const std::filesystem::path& folder, const std::vector<Setting>& settings) {
    must(mkdir(folder.c_str(), 0755), "mkdir in /sys/fs/cgroup");
    folders_.push_back(folder);
    try {
      for (const Setting& setting : settings) write(folder / setting.file, setting.value);
    } catch (...) {
      for (const auto& made : folders_) rmdir(made.c_str());
      throw;
    }
  }

  static void write(const std::filesystem::path& file, const std::string& value) {
    errno = ENOENT;
    std::ofstream stream(file);
    if (!(stream << value << std::flush)) throw std::system_error(errno, std::generic_category(), file.string());
  }

  std::vector<std::filesystem::path> folders_;
};
