/// A RabbitMQ broker that lives as long as this program. To understand a recipe, you need not read on: `const Broker
/// broker;` starts one, and `broker.url()` says where it is.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"

/// Starts a broker in the constructor, which takes seconds, and ends it in the destructor. It listens on the loop-back
/// address at a port that the system chooses, and has all its files in a temporary folder. Any user may start one.
///
/// Between this program and the broker stands a small process, the supervisor. The kernel sends it SIGTERM when this
/// program ends, in whatever way, and then it kills the broker and removes the folder. It cannot if it is itself killed
/// by SIGKILL. Start no thread before.
class Broker {
 public:
  /// Ends the program with exit code 77 if RabbitMQ is not installed. Throws std::runtime_error if it does not start.
  Broker() {
    if (!installed()) {
      cookbook::print_error("skipped: RabbitMQ is not installed (package rabbitmq-server)");
      std::exit(77);
    }
    int ends[2];
    check(pipe2(ends, O_CLOEXEC), "pipe2");
    supervisor_ = cookbook::start_child([&] { supervise(ends[1]); }, SIGTERM);
    close(ends[1]);
    reports_ = ends[0];
    wait_for_start();
  }
  ~Broker() { end(); }
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  static bool installed() { return access(server, X_OK) == 0; }

  std::string url() const { return fmt::format("amqp://guest:guest@127.0.0.1:{}//", port_); }
  pid_t pid() const { return pid_; }

  /// Ends the broker, with SIGTERM in good order and with SIGKILL as a fault would, and starts it again with the same
  /// files and the same address. Returns when it listens. Throws std::runtime_error if it does not start.
  void restart(int signal) {
    kill(pid_, signal);
    kill(supervisor_, SIGUSR1);
    wait_for_start();
  }

 private:
  // Not /usr/sbin/rabbitmq-server, which starts the system's broker, as a user of its own.
  static constexpr const char* server = "/usr/lib/rabbitmq/bin/rabbitmq-server";

  /// Reads the supervisor's report: a line with the broker's process id and port, or else what went wrong, to its end.
  void wait_for_start() {
    std::string report;
    for (char letter; read(reports_, &letter, 1) == 1;) {
      report += letter;
      if (letter == '\n' && std::istringstream(report) >> pid_ >> port_) return;
    }
    end();
    throw std::runtime_error("RabbitMQ did not start: " + report);
  }

  void end() {
    if (supervisor_ == 0) return;
    kill(supervisor_, SIGTERM);
    cookbook::exit_code_of(supervisor_);
    close(reports_);
    supervisor_ = 0;
  }

  /// Starts the broker; on SIGUSR1 waits for its end and starts it again; on SIGTERM kills it and cleans up.
  static void supervise(int reports) {
    setsid();  // Ctrl-C is for the program; the supervisor has to survive it
    sigset_t commands;
    sigemptyset(&commands);
    sigaddset(&commands, SIGTERM);
    sigaddset(&commands, SIGUSR1);
    sigprocmask(SIG_BLOCK, &commands, nullptr);
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // what the broker leaves behind becomes a child of this process
    std::string folder = std::filesystem::temp_directory_path() / "rabbitmq.XXXXXX";
    check(mkdtemp(folder.data()), "mkdtemp");
    const int port = reserve_port();

    for (int command = SIGUSR1; command == SIGUSR1;) {
      const pid_t broker = cookbook::start_child([&] { become_broker(folder, port, commands); });
      const timespec pause = {0, 50'000'000};
      command = -1;
      bool alive = true;
      while (command != SIGTERM && alive && !listens(port)) {
        command = sigtimedwait(&commands, nullptr, &pause);
        alive = waitpid(broker, nullptr, WNOHANG) == 0;
      }
      std::ostringstream report;
      if (alive)
        report << broker << ' ' << port << '\n';
      else
        report << std::ifstream(folder + "/output").rdbuf();
      if (write(reports, report.str().data(), report.str().size()) < 0) command = SIGTERM;
      if (!alive)
        command = 0;  // it has not started: no more
      else if (command != SIGTERM)
        sigwait(&commands, &command);
      if (command == SIGTERM) kill(broker, SIGKILL);
      while (wait(nullptr) > 0) continue;  // the broker, and its helper processes, which end when it does
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  [[noreturn]] static void become_broker(const std::string& folder, int port, const sigset_t& blocked) {
    sigprocmask(SIG_UNBLOCK, &blocked, nullptr);
    // Erlang's own form: to read a rabbitmq.conf takes the broker more than a second.
    std::ofstream(folder + "/rabbitmq.config") << "[{rabbit, [{tcp_listeners, [{\"127.0.0.1\", " << port << "}]}]}].\n";
    std::ofstream(folder + "/plugins") << "[].\n";
    const auto set = [](const char* name, const std::string& value) { setenv(name, value.c_str(), 1); };
    // Erlang nodes find one another through a daemon (epmd) that would outlive the broker. This one needs none.
    const std::string node = "node" + std::to_string(getppid()) + "@localhost";
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
    set("RABBITMQ_SCRIPTS_DIR", without_plugins(folder));
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

  /// Makes a RabbitMQ in `folder` of links to the installed one's parts, but for its 40 plugins, and returns where its
  /// scripts are. A broker loads some 800 modules of Erlang when it starts, and looks for each in every folder of the
  /// plugins, although none is enabled: with them, its start takes twice the processor time.
  static std::string without_plugins(const std::filesystem::path& folder) {
    const auto installed = std::filesystem::canonical(server).parent_path().parent_path();
    if (!std::filesystem::create_directory(folder / "lean")) return folder / "lean/sbin";  // the broker starts again
    std::filesystem::create_directory(folder / "lean/plugins");
    for (const auto& part : std::filesystem::directory_iterator(installed / "plugins")) {
      const std::string name = part.path().filename();
      if (!name.starts_with("rabbitmq_") || name.starts_with("rabbitmq_prelaunch"))
        std::filesystem::create_symlink(part.path(), folder / "lean/plugins" / name);
    }
    std::filesystem::create_symlink(installed / "sbin", folder / "lean/sbin");
    return folder / "lean/sbin";
  }

  /// A port that no other program gets while the supervisor lives, since the socket bound to it is never closed. With
  /// SO_REUSEADDR, the broker can be bound to it, too, and listen.
  static int reserve_port() {
    const int one = 1, holder = check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    check(setsockopt(holder, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), "setsockopt");
    check(bind(holder, reinterpret_cast<sockaddr*>(&address), size), "bind");
    check(getsockname(holder, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
    return ntohs(address.sin_port);
  }

  static bool listens(int port) {
    const sockaddr_in address = loopback(port);
    const int socket = check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    const bool connected = connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(socket);
    return connected;
  }

  static sockaddr_in loopback(int port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  pid_t supervisor_ = 0, pid_ = 0;
  int reports_ = -1, port_ = 0;
};
