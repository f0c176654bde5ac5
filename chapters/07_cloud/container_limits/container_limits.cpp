// Container limits
//
// A program in a container tries four things as root: to read a file outside of its root directory, to start 100
// processes, to leave its control group before it starts them, and to take 256 MiB of memory. The output shows what
// comes of it in a chroot, behind each of four walls alone, behind two of them, and behind all: a root directory by
// pivot_root, no capabilities, a filter of system calls (seccomp), and a control group (cgroup). No wall alone holds
// all four.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/container_limits/container_limits.cpp common/cookbook/*.cpp -lfmt -pthread -o container_limits
// Run:     container_limits, as root

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
#include "cookbook/process.hpp"
#include "walls.hpp"

namespace {

volatile std::sig_atomic_t interrupted = 0;  // by Ctrl-C: the program still removes what it has made

struct Walls {
  bool pivot_root = false, no_capabilities = false, filter = false, limits = false;
};
constexpr Walls all_four = {.pivot_root = true, .no_capabilities = true, .filter = true, .limits = true};

// The attacks. Each says what has come of it; what it says last counts.

void say(int to, const std::string& text) {
  if (write(to, (text + "\n").data(), text.size() + 1) < 0) _exit(1);
}

void read_outside(int to, const std::string& secret) {
  for (int open_folder = 4; open_folder < 100; ++open_folder) {  // one that was left open needs no other trick
    if (openat(open_folder, secret.c_str() + 1, O_RDONLY) >= 0) return say(to, "reads it");
  }
  mkdir("inner", 0700);
  if (chroot("inner") != 0) return say(to, "refused");  // the current directory is now outside of the root directory
  for (int i = 0; i < 100; ++i) {
    if (chdir("..") != 0) return say(to, "refused");
  }
  if (chroot(".") != 0) return say(to, "refused");
  say(to, open(secret.c_str(), O_RDONLY) >= 0 ? "reads it" : "not there");
}

void start_processes(int to, const std::string&) {
  int started = 0;
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child == 0) pause();  // killed with the first process of its namespace
    started += child > 0;
  }
  say(to, std::to_string(started));
}

/// Mounts the tree of control groups, and enters the topmost group, which has no limits.
void leave_group_and_start(int to, const std::string& secret) {
  const std::pair<const char*, const char*> versions[] = {{"cgroup2", nullptr}, {"cgroup", "pids"}};
  for (const auto& [type, options] : versions) {
    mkdir(type, 0700);
    if (mount(type, type, type, 0, options) == 0) std::ofstream(std::string(type) + "/cgroup.procs") << 0;
  }
  start_processes(to, secret);
}

void take_memory(int to, const std::string&) {
  for (int mib = 8; mib <= 256; mib += 8) {
    void* const block = mmap(nullptr, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) break;
    std::memset(block, 1, 8 << 20);  // only memory that is used counts
    say(to, std::to_string(mib) + " MiB");
  }
}

using Attack = void (*)(int to, const std::string& secret);

/// Runs an attack in a container with these walls, and returns what has come of it.
std::string outcome(const Walls& walls, Attack attack, const std::string& folder, const Limits& limits) {
  if (interrupted) throw std::runtime_error("interrupted");
  const ControlGroup group(fmt::format("container_limits.{}", getpid()), limits);
  int ends[2];
  check(pipe2(ends, O_CLOEXEC), "pipe2");
  const pid_t child = static_cast<pid_t>(syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0));
  if (child < 0) throw std::system_error(errno, std::generic_category(), "clone");
  if (child == 0) {
    try {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      must(dup2(ends[1], 3), "dup2");  // 3 leads to the parent, for errors too
      // What is mounted here does not get out to other namespaces.
      must(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "mount");
      if (walls.limits) group.enter();
      walls.pivot_root ? pivot_root(folder + "/root") : change_root(folder + "/root");
      must(close_range(4, ~0U, 0), "close_range");  // an open folder would lead out
      if (walls.no_capabilities) drop_capabilities();
      if (walls.filter) allow_system_calls(needed);
      attack(3, folder + "/secret");
    } catch (const std::exception& error) {
      say(3, error.what());
    }
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char part[4096];
  for (ssize_t count; (count = read(ends[0], part, sizeof part)) > 0;)
    said.append(part, static_cast<std::size_t>(count));
  close(ends[0]);
  const int code = cookbook::exit_code_of(child);
  if (!said.empty()) said.pop_back();
  said.erase(0, said.rfind('\n') + 1);  // the last line; all of it if there is one (npos + 1 is 0)
  return code == -SIGKILL ? "killed" : said;
}

}  // namespace

int main(int argc, char** argv) {
  int processes = 20, mib = 64;
  cookbook::Options options("Try to leave a container, and to take more than one's share, behind different walls");
  options.add("processes", processes, "that a control group may have", 1, 99);
  options.add("mib", mib, "of memory that a control group may have", 32, 200);
  options.parse(argc, argv);
#if defined(__SANITIZE_THREAD__)
  cookbook::print_error("skipped, ThreadSanitizer gives each process a thread, which counts as a process here");
  return 77;
#endif

  const std::vector<std::pair<const char*, Walls>> walls = {
      {"chroot only", {}},
      {"pivot_root", {.pivot_root = true}},
      {"no caps", {.no_capabilities = true}},
      {"seccomp", {.filter = true}},
      {"cgroup", {.limits = true}},
      {"no caps, cgroup", {.no_capabilities = true, .limits = true}},
      {"all four", all_four}};
  const std::vector<std::pair<const char*, Attack>> attacks = {{"read a file outside", read_outside},
                                                               {"start 100 processes", start_processes},
                                                               {"leave group, start 100", leave_group_and_start},
                                                               {"take 256 MiB of memory", take_memory}};
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = 1; });
  std::string folder = std::filesystem::temp_directory_path() / "container_limits.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) cookbook::exit_with_errno("mkdtemp");
  int code = 3;
  try {
    // An open folder that children inherit, unless one takes care.
    check(dup2(check(open("/", O_RDONLY | O_DIRECTORY), "open"), 10), "dup2");
    std::filesystem::create_directory(folder + "/root");
    std::ofstream(folder + "/secret") << "secret";
    const auto cell = [](const std::string& name, const std::string& text) {  // of the column `name`
      return fmt::format("{:{}}", text, std::max<std::size_t>(12, name.size() + 2));
    };
    std::string line = fmt::format("{:23}", "walls");
    for (const auto& [name, wall] : walls) line += cell(name, name);
    cookbook::println("{}", line);
    std::vector<std::string> behind_all;
    for (const auto& [what, attack] : attacks) {
      line = fmt::format("{:23}", what);
      std::string last;
      for (const auto& [name, wall] : walls) {
        last = outcome(wall, attack, folder, {processes, long{mib} << 20});
        line += cell(name, last);
      }
      behind_all.push_back(last);
      cookbook::println("{}", line);
    }
    cookbook::Checks checks;
    const std::string most = std::to_string(processes - 1);
    checks.equal("behind all four", behind_all, {"refused", most, most, "killed"});
    code = checks.exit_code();
  } catch (const std::system_error& error) {
    const bool not_allowed =
        error.code() == std::errc::operation_not_permitted || error.code() == std::errc::permission_denied ||
        error.code() == std::errc::no_such_file_or_directory || error.code() == std::errc::read_only_file_system;
    cookbook::println("{}{}", not_allowed ? "skipped: this system allows no containers here: " : "", error.what());
    code = not_allowed ? 77 : 3;
  } catch (const std::runtime_error& error) {
    cookbook::print_error(error.what());
  }
  std::filesystem::remove_all(folder);
  return code;
}
