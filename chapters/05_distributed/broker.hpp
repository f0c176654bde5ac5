/// A RabbitMQ broker that lives as long as this program. To understand a recipe, you need not read on: `const Broker
/// broker;` starts one, and `broker.url()` says where it is.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"

/// Starts a broker in the constructor, which takes seconds, and ends it in the destructor. It listens on the loop-back
/// address at a port that the system chooses, and has all its files in a temporary folder. Any user may start one.
///
/// Between this program and the broker stands a small process, the supervisor. The kernel sends it SIGTERM when this
/// program ends, in whatever way, and then it kills the broker and removes the folder. Start no thread before.
class Broker {
 public:
  /// Ends the program with exit code 77 if RabbitMQ is not installed. Throws std::runtime_error if it does not start.
  Broker() {
    if (access(server, X_OK) != 0) {
      cookbook::complain("skipped: RabbitMQ is not installed (package rabbitmq-server)");
      std::exit(77);
    }
    int ends[2];
    check(pipe2(ends, O_CLOEXEC), "pipe2");
    const pid_t program = getpid();
    supervisor_ = check(fork(), "fork");
    if (supervisor_ == 0) supervise(program, ends[1]);
    close(ends[1]);
    std::string report;
    char buffer[4096];
    for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;) report.append(buffer, count);
    close(ends[0]);
    if (!(std::istringstream(report) >> pid_ >> port_)) {
      end();
      throw std::runtime_error("RabbitMQ did not start: " + report);
    }
  }
  ~Broker() { end(); }
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  std::string url() const { return fmt::format("amqp://guest:guest@127.0.0.1:{}//", port_); }
  pid_t pid() const { return pid_; }

 private:
  // Not /usr/sbin/rabbitmq-server, which starts the system's broker, as a user of its own.
  static constexpr const char* server = "/usr/lib/rabbitmq/bin/rabbitmq-server";

  void end() {
    kill(supervisor_, SIGTERM);
    waitpid(supervisor_, nullptr, 0);
  }

  /// Writes the broker's process id and port to `report`, or what went wrong; waits for SIGTERM, and cleans up.
  [[noreturn]] static void supervise(pid_t program, int report) noexcept {
    setsid();  // Ctrl-C is for the program; the supervisor has to survive it
    sigset_t terminated;
    sigemptyset(&terminated);
    sigaddset(&terminated, SIGTERM);
    sigprocmask(SIG_BLOCK, &terminated, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != program) _exit(0);  // it ended before the line above
    prctl(PR_SET_CHILD_SUBREAPER, 1);    // what the broker leaves behind becomes a child of this process
    std::string folder = std::filesystem::temp_directory_path() / "rabbitmq.XXXXXX";
    check(mkdtemp(folder.data()), "mkdtemp");

    const pid_t broker = check(fork(), "fork");
    if (broker == 0) become_broker(folder, terminated);
    const timespec pause = {0, 50'000'000};
    int port = 0;
    bool wanted = true, alive = true;
    while (wanted && alive && port == 0) {
      port = listening_port(broker);
      wanted = sigtimedwait(&terminated, nullptr, &pause) != SIGTERM;
      alive = waitpid(broker, nullptr, WNOHANG) == 0;
    }
    std::ostringstream text;
    if (alive)
      text << broker << ' ' << port;
    else
      text << std::ifstream(folder + "/output").rdbuf();
    if (write(report, text.str().data(), text.str().size()) < 0) wanted = false;
    close(report);
    for (int signal = 0; wanted;) wanted = sigwait(&terminated, &signal) != 0;

    if (alive) kill(broker, SIGKILL);
    while (wait(nullptr) > 0) continue;  // the broker, and its helper processes, which end when it does
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    _exit(0);
  }

  [[noreturn]] static void become_broker(const std::string& folder, const sigset_t& blocked) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_UNBLOCK, &blocked, nullptr);
    // Erlang's own form: to read a rabbitmq.conf takes the broker more than a second.
    std::ofstream(folder + "/rabbitmq.config") << "[{rabbit, [{tcp_listeners, [{\"127.0.0.1\", 0}]}]}].\n";
    std::ofstream(folder + "/plugins") << "[].\n";
    const auto set = [](const char* name, const std::string& value) { setenv(name, value.c_str(), 1); };
    // Erlang nodes find one another through a daemon (epmd) that would outlive the broker. This one needs none.
    const std::string node = "node" + std::to_string(getpid()) + "@localhost";
    set("ERL_EPMD_PORT", "1");
    set("ERL_FLAGS", "-start_epmd false");
    set("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-sname " + node + " -dist_listen false -erl_epmd_port 1 +B i");
    set("RABBITMQ_NODENAME", node);
    set("RUNNING_UNDER_SYSTEMD", "true");
    set("HOME", folder);
    set("RABBITMQ_CONF_ENV_FILE", "/dev/null");
    set("RABBITMQ_CONFIG_FILE", folder + "/rabbitmq.config");
    set("RABBITMQ_ENABLED_PLUGINS_FILE", folder + "/plugins");
    set("RABBITMQ_MNESIA_BASE", folder + "/data");
    set("RABBITMQ_LOG_BASE", folder + "/log");
    set("RABBITMQ_PID_FILE", folder + "/pid");
    set("ERL_CRASH_DUMP", folder + "/crash");
    const int output = open((folder + "/output").c_str(), O_WRONLY | O_CREAT, 0600),
              input = open("/dev/null", O_RDONLY);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execl(server, server, nullptr);
    _exit(127);
  }

  /// The TCP port at which a process listens, from the system's tables in /proc; 0 if there is none (yet).
  static int listening_port(pid_t process) {
    std::error_code error;  // a file that has just been closed, or a process that has just ended, is no reason to stop
    std::string sockets;    // as "socket:[NUMBER]"
    std::filesystem::directory_iterator file(fmt::format("/proc/{}/fd", process), error);
    for (; !error && file != std::filesystem::directory_iterator(); file.increment(error)) {
      std::error_code closed;
      sockets += std::filesystem::read_symlink(*file, closed).string();
    }
    std::ifstream table("/proc/net/tcp");
    for (std::string line; std::getline(table, line);) {
      std::string number, local, remote, state, word, inode;
      std::istringstream words(line);
      words >> number >> local >> remote >> state;
      for (int i = 0; i < 6; ++i) words >> inode;
      const bool listens = state == "0A", is_own = sockets.find("[" + inode + "]") != std::string::npos;
      if (listens && is_own) return std::stoi(local.substr(local.find(':') + 1), nullptr, 16);
    }
    return 0;
  }

  pid_t supervisor_, pid_ = 0;
  int port_ = 0;
};
