#include "cookbook/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cookbook/print.hpp"

namespace cookbook {
namespace {

using std::chrono::milliseconds;

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }

/// The one place that sends signals: kill() takes 0, -1 and -N for many processes, up to all of this user.
bool send(pid_t process, int signal) { return process > 0 && kill(process, signal) == 0; }

/// Stops a process and all below it, so that none of them starts another, and adds them to `tree`.
void stop_tree(pid_t process, std::vector<pid_t>& tree) {
  if (!send(process, SIGSTOP)) return;
  tree.push_back(process);
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child;) stop_tree(child, tree);
  }
}

[[noreturn]] void exit_without(const std::string& awaited) {
  print_error("a child ended, or was silent for 30 s, before it said " + awaited);
  std::_Exit(3);
}

}  // namespace

void end_with_parent(pid_t parent, int signal) {
  check(prctl(PR_SET_PDEATHSIG, signal), "prctl");
  if (getppid() != parent) _exit(1);  // it had ended before the line above
}

int exit_code_of(pid_t child) {
  int status = 0;
  pid_t ended;
  do ended = waitpid(child, &status, 0);
  while (ended == -1 && errno == EINTR);  // a signal came first
  check(ended, "waitpid");
  return code_of(status);
}

std::optional<int> exit_code_of(pid_t child, milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (check(waitpid(child, &status, WNOHANG), "waitpid") == 0) {
    if (std::chrono::steady_clock::now() >= end) return {};
    std::this_thread::sleep_for(milliseconds(1));
  }
  return code_of(status);
}

void kill_tree(pid_t process) {
  std::vector<pid_t> tree;
  stop_tree(process, tree);
  for (const pid_t one : tree) send(one, SIGKILL);
}

std::string beside_this_program(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name);
}

void become_program(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  print_error("cannot start " + words[0]);
  _exit(127);
}

ChildProcess::ChildProcess(const std::function<void()>& work, Output output) {
  int ends[2] = {-1, -1};
  if (output != Output::inherited) check(pipe2(ends, O_CLOEXEC), "pipe2");
  pid_ = start_child([&] {
    if (output != Output::inherited) check(dup2(ends[1], STDOUT_FILENO), "dup2");
    if (output == Output::piped_with_errors) check(dup2(ends[1], STDERR_FILENO), "dup2");
    if (output != Output::inherited) want_json(false);  // its lines are for this program
    work();
  });
  if (output == Output::inherited) return;
  close(ends[1]);
  output_ = ends[0];
}

ChildProcess::~ChildProcess() {
  kill_tree(pid_);
  wait();
  if (output_ >= 0) close(output_);
}

std::string ChildProcess::read_line() {
  if (auto line = next_line()) return *line;
  exit_without("another line");
}

std::string ChildProcess::read_until(const std::string& text) {
  while (auto line = next_line()) {
    if (line->find(text) != std::string::npos) return *line;
  }
  exit_without("'" + text + "'");
}

std::string ChildProcess::read_all(milliseconds silence) {
  std::string text;
  while (const auto line = next_line(silence)) text += *line + '\n';
  return text;
}

bool ChildProcess::send_signal(int signal) const { return send(pid_, signal); }

int ChildProcess::wait() {
  if (!exit_code_) exit_code_ = exit_code_of(std::exchange(pid_, -1));
  return *exit_code_;
}

std::optional<int> ChildProcess::wait(milliseconds limit) {
  if (!exit_code_ && (exit_code_ = exit_code_of(pid_, limit))) pid_ = -1;
  return exit_code_;
}

int ChildProcess::stop(int signal) {
  send_signal(signal);
  while (next_line()) continue;
  kill_tree(pid_);  // of no effect, unless it has been silent for 30 s and still is there
  return wait();
}

/// Nothing at the end of its output, or if nothing comes for `silence`.
std::optional<std::string> ChildProcess::next_line(milliseconds silence) {
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      lines_.push_back(unread_.substr(0, end));
      unread_.erase(0, end + 1);
      return lines_.back();
    }
    pollfd ready = {output_, POLLIN, 0};
    char buffer[4096];
    if (output_ < 0 || poll(&ready, 1, static_cast<int>(silence.count())) <= 0) return {};
    const ssize_t count = read(output_, buffer, sizeof buffer);
    if (count <= 0) return {};
    unread_.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace cookbook
