/// A container made by hand: a process that has process numbers, a network and a root directory of its own.
#pragma once

#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "cookbook/process.hpp"

/// Gives a program that does not run as root a namespace of users, in which it has all capabilities and so may make the
/// others. (Nobody writes a uid_map, so its user there is 65534, "nobody".) False if the system does not allow it. Call
/// it once.
inline bool may_isolate() { return geteuid() == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0; }

class Isolated {
 public:
  /// Starts the program /greeting of the folder `root`. Throws std::system_error if the system refuses.
  explicit Isolated(const std::string& root) {
    const int parent = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
    // Like fork(), but the child is the first process in a namespace of processes, and alone in a network.
    pid_ = static_cast<pid_t>(syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0));
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "clone");
    if (pid_ > 0) {
      close(parent);
      return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // it ends with this program
    pollfd ended = {parent, POLLIN, 0};
    if (poll(&ended, 1, 0) == 1) _exit(1);  // which had ended before (getppid() is 0 in a namespace of its own)
    switch_loopback_on();
    if (chroot(root.c_str()) != 0 || chdir("/") != 0) _exit(126);
    // A folder that this program has open would lead out of the new root directory, as the current directory would.
    if (close_range(3, ~0U, 0) != 0 || !drop_capabilities()) _exit(126);
    char name[] = "/greeting", *words[] = {name, nullptr}, *no_environment[] = {nullptr};  // it may have passwords
    execve(name, words, no_environment);
    _exit(127);
  }
  ~Isolated() { stop(SIGKILL); }  // without asking it, and so without waiting for it
  Isolated(const Isolated&) = delete;

  /// Its number outside of its namespace.
  pid_t process() const { return pid_; }

  /// A socket that is connected to a port inside; the caller closes it. Waits up to 5 s for a server that starts.
  /// Throws std::system_error if the system refuses, and std::runtime_error if the process has ended.
  int connect_to(std::uint16_t port) const {
    const int here = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    const int inside = open(("/proc/" + std::to_string(pid_) + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC);
    if (inside < 0) throw std::runtime_error("the process has ended, and its network with it");
    if (setns(inside, CLONE_NEWNET) != 0) throw std::system_error(errno, std::generic_category(), "setns inside");
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);  // it stays in the network where it is made
    if (setns(here, CLONE_NEWNET) != 0) throw std::system_error(errno, std::generic_category(), "setns back");
    close(here), close(inside);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int attempt = 0; connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0; ++attempt) {
      if (attempt == 500) throw std::system_error(errno, std::generic_category(), "connect");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return client;
  }

  /// As engines do: sends a signal, and SIGKILL if the process is still there 5 s later. The exit code, or 128 and the
  /// number of the signal that ended it.
  int stop(int signal = SIGTERM) {
    if (pid_ <= 0) return -1;
    kill(pid_, signal);
    std::optional<int> code = cookbook::exit_code_of(pid_, std::chrono::seconds(5));
    if (!code) kill(pid_, SIGKILL), code = cookbook::exit_code_of(pid_);
    pid_ = -1;
    return *code < 0 ? 128 - *code : *code;
  }

 private:
  /// The address 127.0.0.1 of a new network is there, but switched off.
  static void switch_loopback_on() {
    ifreq loopback = {};
    loopback.ifr_name[0] = 'l', loopback.ifr_name[1] = 'o';
    loopback.ifr_flags = IFF_UP;
    ioctl(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), SIOCSIFFLAGS, &loopback);
  }

  /// Takes all rights of root from this process, and from the programs that it becomes. Root's number, 0, stays.
  static bool drop_capabilities() {
    for (unsigned long one = 0; prctl(PR_CAPBSET_READ, one, 0, 0, 0) >= 0; ++one) {  // up to the last that there is
      if (prctl(PR_CAPBSET_DROP, one, 0, 0, 0) != 0) return false;                   // execve() cannot give it back
    }
    __user_cap_header_struct version = {_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[2] = {};
    return syscall(SYS_capset, &version, none) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  }

  pid_t pid_;
};
