#include "support/run.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "cookbook/process.hpp"

namespace test_support {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

[[noreturn]] void refused(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The processes whose parent is this test, which as a subreaper inherits every orphan of the programs that it runs.
std::set<pid_t> children() {
  std::set<pid_t> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    found.insert(std::istream_iterator<pid_t>(list), {});
  }
  return found;
}

/// The programs that run now, each a Process. They may be started in several threads.
std::mutex mutex;
std::set<pid_t> running;

// The OpenCL loader of CUDA's toolkit cuts this variable apart in place when a test uses OpenCL itself, so that a
// program started afterwards would see the first driver only. This is the variable as it was.
const std::string opencl_drivers = [] {
  const char* const drivers = getenv("OCL_ICD_FILENAMES");
  return std::string(drivers ? drivers : "");
}();

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

Process::Process(const std::string& name, const std::vector<std::string>& arguments, const RunOptions& options)
    : options_(options) {
  const std::string path = name.find('/') == std::string::npos ? bin() + "/" + name : name;
  if (access(path.c_str(), X_OK) != 0) refused(path);
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  const int input = memfd_create("input", MFD_CLOEXEC);
  int out[2], err[2];
  if (input < 0 || write(input, options.input.data(), options.input.size()) < 0 || lseek(input, 0, SEEK_SET) != 0) {
    refused("memfd_create");
  }
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) refused("pipe2");
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) refused("prctl");
  std::filesystem::create_directory(folder_.path / "tmp");

  const std::lock_guard lock(mutex);
  children_before_ = children();
  pid_ = cookbook::start_child([&] {  // a test that is killed, for example by ctest, leaves no program behind
    setpgid(0, 0);
    // gtest_discover_tests and ctest may ignore it, and an ignored signal stays ignored over exec.
    signal(SIGINT, SIG_DFL);
    dup2(input, STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(options.errors_among_output ? out[1] : err[1], STDERR_FILENO);
    if (!opencl_drivers.empty()) setenv("OCL_ICD_FILENAMES", opencl_drivers.c_str(), 1);
#ifdef COOKBOOK_RUN_PROBES
    if (options.probed) setenv("LD_PRELOAD", COOKBOOK_RUN_PROBES, 1);
    setenv("COOKBOOK_EXERCISE_RECORD", (folder_.path / "threads").c_str(), 1);
    setenv("COOKBOOK_RUN_FOLDER", COOKBOOK_BIN, 1);
    setenv("COOKBOOK_RUN_RECORD", (folder_.path / "record").c_str(), 1);
#endif
    setenv("TMPDIR", (folder_.path / "tmp").c_str(), 1);
    for (const auto& [key, value] : options.environment) setenv(key.c_str(), value.c_str(), 1);
    const rlimit limit = {options.max_files, options.max_files};
    if (options.max_files > 0) setrlimit(RLIMIT_NOFILE, &limit);
    execv(path.c_str(), argv.data());
    return 127;
  });
  running.insert(pid_);
  setpgid(pid_, pid_);  // in both processes, since either may come first
  for (const int end : {input, out[1], err[1]}) close(end);
  outputs_[0] = out[0];
  outputs_[1] = err[0];
}

Process::~Process() {
  if (pid_ > 0) {
    cookbook::kill_tree(pid_);
    kill(-pid_, SIGKILL);
    cookbook::exit_code_of(pid_);
    const std::lock_guard lock(mutex);
    running.erase(pid_);
  }
  for (const int output : outputs_) {
    if (output >= 0) close(output);
  }
}

/// Reads what has been printed; if nothing has, waits for it, but no longer than `limit`.
void Process::read_outputs(milliseconds limit) {
  pollfd pipes[2] = {{outputs_[0], POLLIN, 0}, {outputs_[1], POLLIN, 0}};
  if (poll(pipes, 2, static_cast<int>(limit.count())) < 0 && errno != EINTR) refused("poll");
  for (int i = 0; i < 2; ++i) {
    if (outputs_[i] < 0 || pipes[i].revents == 0) continue;
    char buffer[1 << 16];
    const ssize_t count = read(outputs_[i], buffer, sizeof buffer);
    if (count > 0) texts_[i].append(buffer, static_cast<std::size_t>(count));
    if (count == 0) close(std::exchange(outputs_[i], -1));
  }
}

std::string Process::read_line() {
  const Clock::time_point end = Clock::now() + slower * options_.limit;
  for (;;) {
    if (const std::size_t feed = texts_[0].find('\n', lines_end_); feed != std::string::npos) {
      const std::size_t begin = std::exchange(lines_end_, feed + 1);
      return texts_[0].substr(begin, feed - begin);
    }
    if (outputs_[0] < 0 || Clock::now() > end) return "";
    read_outputs(milliseconds(10));
  }
}

std::string Process::read_until(const std::string& text) {
  for (std::size_t before = lines_end_;; before = lines_end_) {
    const std::string line = read_line();
    if (lines_end_ == before) break;
    if (line.find(text) != std::string::npos) return line;
  }
  ADD_FAILURE() << "no line with '" << text << "' among\n" << texts_[0] << texts_[1];
  return "";
}

std::vector<std::string> Process::lines() const { return lines_of(texts_[0].substr(0, lines_end_)); }

void Process::send_signal(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

const Result& Process::stop(int signal) {
  send_signal(signal);
  return wait();
}

const Result& Process::wait() {
  if (result_) return *result_;
  Result result;
  const Clock::time_point start = Clock::now();
  bool interrupted = options_.interrupt_after_ms < 0;
  bool killed = options_.kill_after_ms < 0;
  bool ended = false;
  while (outputs_[0] >= 0 || outputs_[1] >= 0 || !ended) {
    read_outputs(milliseconds(10));
    if (ended) continue;
    siginfo_t end{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == pid_) {
      ended = true;
      result.processor_seconds = processor_seconds(17);  // before the system forgets them
      result.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
      result.exit_code = cookbook::exit_code_of(pid_);
      // What it left behind may hold the pipes open for ever. On a busy machine it takes time to end by itself.
      result.leaked_processes =
          reap_leftovers(std::chrono::seconds(result.exit_code == 0 || result.timed_out ? 0 : 10));
      continue;
    }
    const auto passed = Clock::now() - start;
    if (!interrupted && passed >= milliseconds(options_.interrupt_after_ms)) {
      interrupted = true;
      kill(-pid_, SIGINT);
    }
    if (!killed && passed >= milliseconds(options_.kill_after_ms)) {
      killed = true;
      kill(pid_, SIGKILL);
    }
    if (!result.timed_out && passed >= slower * options_.limit) {
      result.timed_out = true;
      kill(-pid_, SIGKILL);
    }
  }
  {
    const std::lock_guard lock(mutex);
    running.erase(std::exchange(pid_, -1));
  }
  look_at_traces(result);
  result.out = lines_of(texts_[0]);
  result.err = lines_of(texts_[1]);
  return result_.emplace(std::move(result));
}

void Process::look_at_traces(Result& result) const {
  std::vector<std::string> open;
  const int exit_code = result.exit_code;
#ifdef COOKBOOK_RUN_PROBES
  result.most_threads = 1;
#endif
  for (const std::string& line : lines_of(text_of(folder_.path / "threads"))) {
    if (line.rfind("threads ", 0) == 0) result.most_threads = std::max(result.most_threads, std::stoi(line.substr(8)));
  }
  if (options_.may_leave_something || !options_.probed) return;
  for (const std::string& line : lines_of(text_of(folder_.path / "record"))) {
    if (line.find(" has left a descriptor open: ") != std::string::npos) {
      open.push_back(line);
    } else if (line[0] != '/') {
      ADD_FAILURE() << line;
    } else if (exit_code >= 0) {
      EXPECT_FALSE(std::filesystem::exists(line)) << "left behind: " << line;
    }
  }
  if (exit_code < 0) return;
#ifdef COOKBOOK_RUN_PROBES
  EXPECT_THAT(open, testing::SizeIs(options_.descriptors_left));
#endif
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path / "tmp")) {
    // A program that was not started by mpirun leaves Open MPI's folder behind.
    const std::string name = entry.path().filename();
    EXPECT_TRUE(name.starts_with("ompi.")) << "left behind: " << name;
  }
}

std::set<pid_t> Process::leftovers() const {
  const std::lock_guard lock(mutex);
  std::set<pid_t> left = children();
  std::erase_if(left, [&](pid_t child) { return children_before_.contains(child) || running.contains(child); });
  return left;
}

/// Kills and reaps whatever the program left behind and is still there after `grace`; its orphans' own children come up
/// in the next round. Returns how many were killed.
int Process::reap_leftovers(milliseconds grace) const {
  const Clock::time_point end = Clock::now() + grace;
  int count = 0;
  for (std::set<pid_t> left; !(left = leftovers()).empty(); poll(nullptr, 0, 1)) {
    for (const pid_t child : left) {
      // An orphan that had ended by itself, between the program's end and now, is no leftover.
      if (waitpid(child, nullptr, WNOHANG) != 0 || Clock::now() < end) continue;
      ++count;
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  return count;
}

long Process::resident() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stol(line.substr(6));
  }
  throw std::runtime_error("no VmRSS");
}

double Process::processor_seconds(int last_field) const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(text.rfind(')') + 2));  // from the third field on
  for (int i = 3; i < 14; ++i) fields >> text;
  long ticks = 0, sum = 0;  // in user mode and in the system, then those of its children
  for (int i = 14; i <= last_field && fields >> ticks; ++i) sum += ticks;
  return static_cast<double>(sum) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

bool Process::is_idle() const {
  const double before = processor_seconds();
  poll(nullptr, 0, 300);
  return processor_seconds() - before < 0.1;
}

ServerProcess::ServerProcess(const std::string& name, const std::vector<std::string>& arguments,
                             const RunOptions& options)
    : Process(name, arguments, options) {
  const std::string line = read_line();
  port = static_cast<unsigned short>(std::stoi(line.substr(line.rfind(':') + 1)));
}

Result run(const std::string& name, const std::vector<std::string>& arguments, const RunOptions& options) {
  return Process(name, arguments, options).wait();
}

std::string bin() { return COOKBOOK_BIN; }

Result run_ranks(int ranks, const std::string& name, const std::vector<std::string>& arguments,
                 const RunOptions& options) {
  std::vector<std::string> all = {"--quiet", "--allow-run-as-root", "--oversubscribe",
                                  "-n",      std::to_string(ranks), bin() + "/" + name};
  all.insert(all.end(), arguments.begin(), arguments.end());
  RunOptions ours = options;
  // When one rank has failed, mpirun would give the others a second to end by themselves.
  ours.environment.emplace("OMPI_MCA_odls_base_sigkill_timeout", "0");
  // Where libevent, which mpirun is built on, uses epoll, it may write warnings of its own to standard error.
  ours.environment.emplace("EVENT_NOEPOLL", "1");
  ours.environment.emplace("COOKBOOK_ROUNDS", "1");
  return run("/usr/bin/mpirun", all, ours);
}

Result run_parts(const std::string& folder, const std::vector<std::string>& arguments, const RunOptions& options) {
  std::vector<std::string> all = {bin()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run(std::string(COOKBOOK_RECIPES) + "/" + folder + "/run.sh", all, options);
}

}  // namespace test_support
