#include "support/run.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <system_error>

namespace test_support {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void refused(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The processes whose parent is this test, which as a subreaper inherits every orphan of the program it runs.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    std::copy(std::istream_iterator<pid_t>(list), {}, std::back_inserter(found));
  }
  return found;
}

/// Kills and reaps whatever the program left behind and is still there after `grace`; its orphans' own children come up
/// in the next round.
int reap_leftovers(std::chrono::milliseconds grace) {
  const Clock::time_point end = Clock::now() + grace;
  while (Clock::now() < end && !children().empty()) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    poll(nullptr, 0, 1);
  }
  int count = 0;
  for (;;) {
    int status = 0;
    while (waitpid(-1, &status, WNOHANG) > 0) {
      // An orphan that had ended by itself, between the program's end and now, is no leftover.
    }
    const std::vector<pid_t> left = children();
    if (left.empty()) return count;
    for (const pid_t child : left) {
      ++count;
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
    }
  }
}

}  // namespace

bool Result::has_line(const std::string& line) const { return std::find(out.begin(), out.end(), line) != out.end(); }

std::vector<std::string> Result::lines_with(const std::string& regex) const {
  std::vector<std::string> found;
  const std::regex wanted(regex);
  std::copy_if(out.begin(), out.end(), std::back_inserter(found),
               [&](const std::string& line) { return std::regex_search(line, wanted); });
  return found;
}

std::vector<std::string> Result::captures(const std::string& regex) const {
  std::vector<std::string> found;
  const std::regex wanted(regex);
  for (const std::string& line : out) {
    std::smatch match;
    if (std::regex_search(line, match, wanted)) found.push_back(match[1]);
  }
  return found;
}

std::string Result::text() const {
  std::ostringstream stream;
  stream << "exit code " << exit_code << (timed_out ? ", timed out" : "") << ", left behind " << leaked_processes
         << '\n';
  for (const std::string& line : out) stream << "  out: " << line << '\n';
  for (const std::string& line : err) stream << "  err: " << line << '\n';
  return stream.str();
}

std::string bin() { return COOKBOOK_BIN; }

Result run_ranks(int ranks, const std::string& name, const std::vector<std::string>& arguments,
                 const RunOptions& setting) {
  std::vector<std::string> all = {"--quiet", "--allow-run-as-root", "--oversubscribe",
                                  "-n",      std::to_string(ranks), bin() + "/" + name};
  all.insert(all.end(), arguments.begin(), arguments.end());
  RunOptions ours = setting;
  // When one rank has failed, mpirun would give the others a second to end by themselves.
  ours.environment.emplace("OMPI_MCA_odls_base_sigkill_timeout", "0");
  // Where libevent, which mpirun is built on, uses epoll, it may write warnings of its own to standard error.
  ours.environment.emplace("EVENT_NOEPOLL", "1");
  ours.environment.emplace("COOKBOOK_ROUNDS", "1");
  return run("/usr/bin/mpirun", all, ours);
}

Result run_parts(const std::string& folder, const std::vector<std::string>& arguments, const RunOptions& setting) {
  std::vector<std::string> all = {bin()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run(std::string(COOKBOOK_RECIPES) + "/" + folder + "/run.sh", all, setting);
}

namespace {

// The OpenCL loader of CUDA's toolkit cuts this variable apart in place when a test uses OpenCL itself, so that a
// program started afterwards would see the first driver only. This is the variable as it was.
const std::string opencl_drivers = [] {
  const char* const drivers = getenv("OCL_ICD_FILENAMES");
  return std::string(drivers ? drivers : "");
}();

}  // namespace

Result run(const std::string& name, const std::vector<std::string>& arguments, const RunOptions& setting) {
  const std::string path = name.find('/') == std::string::npos ? bin() + "/" + name : name;
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) refused("prctl");
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) refused("pipe2");
  const pid_t child = fork();
  if (child < 0) refused("fork");
  if (child == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed, for example by ctest, leaves no program behind
    // gtest_discover_tests and ctest may ignore it, and an ignored signal stays ignored over exec.
    signal(SIGINT, SIG_DFL);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    if (!opencl_drivers.empty()) setenv("OCL_ICD_FILENAMES", opencl_drivers.c_str(), 1);
    for (const auto& [key, value] : setting.environment) setenv(key.c_str(), value.c_str(), 1);
    execv(path.c_str(), argv.data());
    _exit(127);
  }
  setpgid(child, child);  // in both processes, since either may come first
  close(out[1]);
  close(err[1]);

  Result result;
  std::string texts[2];
  pollfd pipes[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  const Clock::time_point start = Clock::now();
  bool interrupted = setting.interrupt_after_ms < 0;
  bool killed = setting.kill_after_ms < 0;
  bool ended = false;
  while (pipes[0].fd >= 0 || pipes[1].fd >= 0 || !ended) {
    if (poll(pipes, 2, 10) < 0 && errno != EINTR) refused("poll");
    for (int i = 0; i < 2; ++i) {
      if (pipes[i].fd < 0 || pipes[i].revents == 0) continue;
      char buffer[1 << 16];
      const ssize_t count = read(pipes[i].fd, buffer, sizeof buffer);
      if (count > 0) {
        texts[i].append(buffer, static_cast<std::size_t>(count));
      } else if (count == 0) {
        pipes[i].fd = -1;
      }
    }

    int status = 0;
    if (!ended && waitpid(child, &status, WNOHANG) == child) {
      ended = true;
      result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
      // What it left behind may hold the pipes open for ever. On a busy machine it takes time to end by itself.
      result.leaked_processes =
          reap_leftovers(std::chrono::seconds(result.exit_code == 0 || result.timed_out ? 0 : 10));
    }
    const auto passed = Clock::now() - start;
    if (!interrupted && passed >= std::chrono::milliseconds(setting.interrupt_after_ms)) {
      interrupted = true;
      kill(-child, SIGINT);
    }
    if (!killed && !ended && passed >= std::chrono::milliseconds(setting.kill_after_ms)) {
      killed = true;
      kill(child, SIGKILL);
    }
    if (!ended && !result.timed_out && passed >= setting.limit) {
      result.timed_out = true;
      kill(-child, SIGKILL);
    }
  }
  close(out[0]);
  close(err[0]);
  if (result.exit_code == 127 && !std::filesystem::exists(path)) refused(path.c_str());
  result.out = lines_of(texts[0]);
  result.err = lines_of(texts[1]);
  return result;
}

}  // namespace test_support
