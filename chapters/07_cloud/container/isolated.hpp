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
#include <string_view>
#include <system_error>
#include <thread>

#include "cookbook/process.hpp"

/// Gives a program that does not run as root a namespace of users, in which it has all capabilities and so may make the
/// others. (Nobody writes a uid_map, so its user there is 65534, "nobody".) False if the system does not allow it. Call
/// it once.
inline bool may_isolate() { return geteuid() == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0; }

inline void end_with(int parent);
inline void switch_loopback_on();
inline bool drop_capabilities();

/// Starts the program /greeting of the folder `root` in a container; its number outside. An experiment can give it an
/// argument, and leave one step `out`. Throws std::system_error if the system refuses.
inline pid_t start_isolated(const std::string& root, std::string_view out = "", const char* argument = nullptr) {
  const auto with = [&](std::string_view step) { return step != out; };
  const int parent = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  unsigned long flags = SIGCHLD;
  if (with("CLONE_NEWPID")) flags |= CLONE_NEWPID;  // the first process in a namespace of processes
  if (with("CLONE_NEWNET")) flags |= CLONE_NEWNET;  // alone in a network
  // Like fork(). (The order of x86-64 and arm64; clone3() has one for all.)
  const pid_t child = static_cast<pid_t>(syscall(SYS_clone, flags, 0, 0, 0, 0));
  if (child != 0) close(parent);
  if (child < 0) throw std::system_error(errno, std::generic_category(), "clone");
  if (child > 0) return child;

  end_with(parent);
  if (with("CLONE_NEWNET")) switch_loopback_on();
  if (with("chroot") && (chroot(root.c_str()) != 0 || chdir("/") != 0)) _exit(126);
  // A folder that this program has open would lead out of the new root directory, as the current directory would.
  if (with("close_range") && close_range(3, ~0U, 0) != 0) _exit(126);
  if (with("PR_CAPBSET_DROP") && !drop_capabilities()) _exit(126);
  std::string name = with("chroot") ? "/greeting" : root + "/greeting";
  char *words[] = {name.data(), const_cast<char*>(argument), nullptr}, *no_environment[] = {nullptr};
  execve(name.c_str(), words, with("execve") ? no_environment : environ);  // the environment may have passwords
  _exit(127);
}

/// A process that was started so, as an object.
class Isolated {
 public:
  explicit Isolated(const std::string& root) : pid_(start_isolated(root)) {}
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

  /// What its web server answers to GET.
  std::string get(const std::string& path) const {
    const int server = connect_to(5000);
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: container\r\n\r\n";
    send(server, request.data(), request.size(), MSG_NOSIGNAL);
    std::string answer;
    char part[1024];
    for (ssize_t count; (count = recv(server, part, sizeof part, 0)) > 0;) {
      answer.append(part, static_cast<std::size_t>(count));
    }
    close(server);
    const auto end_of_head = answer.find("\r\n\r\n");
    return end_of_head == answer.npos ? answer : answer.substr(end_of_head + 4);
  }

 private:
  pid_t pid_;
};

/// Ends this process with the program that a pidfd names. (getppid() is 0 for process 1 of a namespace.)
inline void end_with(int parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd ended = {parent, POLLIN, 0};
  if (poll(&ended, 1, 0) == 1) _exit(1);  // it had ended before
  close(parent);
}

/// The address 127.0.0.1 of a new network is there, but switched off.
inline void switch_loopback_on() {
  ifreq loopback = {};
  loopback.ifr_name[0] = 'l', loopback.ifr_name[1] = 'o';
  loopback.ifr_flags = IFF_UP;
  ioctl(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), SIOCSIFFLAGS, &loopback);
}

/// Takes all rights of root from this process, and from the programs that it becomes. Root's number, 0, stays.
inline bool drop_capabilities() {
  for (unsigned long one = 0; prctl(PR_CAPBSET_READ, one, 0, 0, 0) >= 0; ++one) {  // up to the last that there is
    if (prctl(PR_CAPBSET_DROP, one, 0, 0, 0) != 0) return false;                   // execve() cannot give it back
  }
  __user_cap_header_struct version = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  return syscall(SYS_capset, &version, none) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}
