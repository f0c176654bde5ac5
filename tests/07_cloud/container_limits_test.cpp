// The program's output, its attacks and each wall from inside.

#define main main_of_the_program  // its functions are tested from inside, too
#include "07_cloud/container_limits/container_limits.cpp"
#undef main

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <set>
#include <string>

#include "cookbook/process.hpp"
#include "support/eventually.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;
using test_support::TemporaryDirectory;

/// The exit code of `work` in a child process, or -N if signal N ended it; 99 if it throws.
int in_child(const std::function<int()>& work) {
  return cookbook::exit_code_of(cookbook::start_child([&] {
    try {
      return work();
    } catch (const std::exception&) {
      return 99;
    }
  }));
}

bool is_root() { return geteuid() == 0; }

#define SKIP_UNLESS_ALLOWED(result)                              \
  if ((result).exit_code == 77) GTEST_SKIP() << (result).text(); \
  ASSERT_EQ((result).exit_code, 0) << (result).text();

#ifdef __SANITIZE_ADDRESS__
#define SKIP_UNDER_ADDRESS_SANITIZER() \
  GTEST_SKIP() << "AddressSanitizer makes calls of its own when a process ends, which the filter refuses"
#else
#define SKIP_UNDER_ADDRESS_SANITIZER() static_cast<void>(0)
#endif

/// Whether root may enter the topmost control group that it can mount. In a container that sees a part of the tree
/// only, the kernel may refuse: of version 2 the group that is the part's top may have limits for its children, but
/// then no processes (cgroups(7), "no internal processes").
bool topmost_group_takes_processes() {
  const TemporaryDirectory scratch;
  const int entered = in_child([&] {
    must(unshare(CLONE_NEWNS), "unshare");
    must(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "mount");
    const bool version_2 = std::filesystem::exists("/sys/fs/cgroup/cgroup.controllers");
    const char* type = version_2 ? "cgroup2" : "cgroup";
    must(mount(type, scratch.path.c_str(), type, 0, version_2 ? nullptr : "pids"), "mount");
    std::ofstream group(scratch.path / "cgroup.procs");
    return (group << 0).flush() ? 0 : 1;
  });
  return entered == 0;
}

// The program leaves a folder open that its children inherit, to show what a wall makes of that.

TEST(container_limits, each_wall_holds_what_it_is_for_and_nothing_is_left_behind) {
  const TemporaryDirectory scratch;
  const auto result =
      run("container_limits", {}, {.environment = {{"TMPDIR", scratch.path}}, .may_leave_something = true});
  EXPECT_EQ(result.leaked_processes, 0);
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path));
  SKIP_UNLESS_ALLOWED(result);
  const std::string leaves = topmost_group_takes_processes() ? "100" : "19";
  //                                   chroot   pivot_root no caps   seccomp   cgroup   no caps, cgroup and all four
  for (const std::string& row : std::vector<std::string>{
           "read a file outside +reads it +not there +refused +refused +reads it +refused +refused",
           "start 100 processes +100 +100 +100 +100 +19 +19 +19",
           "leave group, start 100 +100 +100 +100 +100 +" + leaves + " +19 +19",
           "take 256 MiB of memory +256 MiB +256 MiB +256 MiB +256 MiB +killed +killed +killed"}) {
    EXPECT_EQ(result.lines_with("^" + row + " *$").size(), 1U) << row << "\n" << result.text();
  }
}

TEST(container_limits, a_filter_keeps_the_attacker_in_its_group_as_no_capabilities_do) {
  const TemporaryDirectory scratch;
  std::filesystem::create_directory(scratch.path / "root");
  std::string said;
  try {
    said = outcome({.filter = true, .limits = true}, leave_group_and_start, scratch.path.string(), {20, 64 << 20});
  } catch (const std::system_error& error) {
    GTEST_SKIP() << "this system allows no containers: " << error.what();
  }
  EXPECT_EQ(said, "19");
}

/// Where mounts are shared with other namespaces, as systemd has them, unless the process makes them private.
TEST(container_limits, what_is_mounted_inside_is_not_seen_outside) {
  const TemporaryDirectory scratch;
  std::filesystem::create_directory(scratch.path / "root");
  const int code = in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
    if (mount(scratch.path.c_str(), scratch.path.c_str(), nullptr, MS_BIND, nullptr) != 0) return 77;
    if (mount(nullptr, scratch.path.c_str(), nullptr, MS_SHARED, nullptr) != 0) return 77;
    const auto mounts = [] {
      std::ifstream file("/proc/self/mounts");
      return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
    };
    const auto before = mounts();
    const Attack attack = [](int to, const std::string&) { say(to, "inside"); };
    try {
      if (outcome({.pivot_root = true}, attack, scratch.path.string(), {20, 64 << 20}) != "inside") return 1;
    } catch (const std::system_error&) {
      return 77;
    }
    return mounts() == before ? 0 : 2;
  });
  if (code == 77) GTEST_SKIP() << "this system allows no containers";
  EXPECT_EQ(code, 0);
}

TEST(container_limits, the_last_column_has_each_of_the_walls) {  // which the outcomes do not show
  EXPECT_TRUE(all_four.pivot_root);
  EXPECT_TRUE(all_four.no_capabilities);
  EXPECT_TRUE(all_four.filter);
  EXPECT_TRUE(all_four.limits);
}

TEST(container_limits, the_limits_are_those_that_are_asked_for) {
  const auto result = run("container_limits", {"--processes", "7", "--mib", "200"}, {.may_leave_something = true});
  SKIP_UNLESS_ALLOWED(result);
  EXPECT_TRUE(result.has_line("ok    behind all four: [\"refused\", \"6\", \"6\", \"killed\"]")) << result.text();
}

/// The control groups that programs have left behind.
std::set<std::string> groups_left() {
  std::set<std::string> names;
  for (const char* folder : {"/sys/fs/cgroup", "/sys/fs/cgroup/pids"}) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with("container_limits.")) continue;
      if (kill(std::stoi(name.substr(name.find('.') + 1)), 0) != 0) names.insert(name);  // its maker has ended
    }
  }
  return names;
}

TEST(container_limits, ctrl_c_leaves_no_files_and_no_control_group) {
  const auto before = groups_left();
  for (const int after_ms : {100, 300, 500}) {
    const TemporaryDirectory scratch;
    const auto result =
        run("container_limits", {},
            {.environment = {{"TMPDIR", scratch.path}}, .interrupt_after_ms = after_ms, .may_leave_something = true});
    EXPECT_EQ(result.leaked_processes, 0);
    EXPECT_TRUE(std::filesystem::is_empty(scratch.path)) << after_ms;
    EXPECT_EQ(groups_left(), before) << after_ms;
  }
}

TEST(container_limits, either_signal_ends_it_after_it_has_removed_what_it_has_made) {
  const auto before = groups_left();
  for (const int signal : {SIGINT, SIGTERM}) {
    const TemporaryDirectory scratch;
    test_support::Process program("container_limits", {},
                                  {.environment = {{"TMPDIR", scratch.path}}, .may_leave_something = true});
    program.read_line();  // the head of the table: its folder is there
    const auto result = program.stop(signal);
    EXPECT_GE(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
    EXPECT_TRUE(std::filesystem::is_empty(scratch.path)) << signal;
    EXPECT_EQ(groups_left(), before) << signal;
  }
}

TEST(container_limits, a_wall_that_cannot_be_put_up_is_what_has_come_of_the_attack) {
  const TemporaryDirectory scratch;  // without the folder "root"
  const Attack attack = [](int to, const std::string&) { say(to, "no wall"); };
  for (const bool pivot : {false, true}) {
    std::string said;
    try {
      said = outcome({.pivot_root = pivot}, attack, scratch.path.string(), {20, 64 << 20});
    } catch (const std::system_error& error) {
      GTEST_SKIP() << "this system allows no containers: " << error.what();
    }
    EXPECT_EQ(said, pivot ? "mount: No such file or directory" : "chdir: No such file or directory");
  }
}

struct Notes {
  std::atomic<bool> has_begun = false, may_end = false;
};
Notes* notes = nullptr;  // in shared memory

TEST(container_limits, an_attack_that_never_ends_is_killed_with_the_program) {
  notes = new (check(mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), "mmap"))
      Notes;
  const TemporaryDirectory scratch;
  std::filesystem::create_directory(scratch.path / "root");
  check(prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl");  // the attacker becomes a child of this process
  const pid_t program = cookbook::start_child([&] {
    const Attack attack = [](int, const std::string&) {
      notes->has_begun = true;
      while (!notes->may_end) usleep(1000);
    };
    try {
      outcome({}, attack, scratch.path.string(), {20, 64 << 20});
    } catch (const std::exception&) {
    }
    return notes->has_begun ? 1 : 77;
  });
  std::optional<int> ended;
  EXPECT_TRUE(test_support::eventually([&] {
    if (!notes->has_begun) ended = cookbook::exit_code_of(program, std::chrono::milliseconds(0));
    return ended || notes->has_begun;
  }));
  if (ended) GTEST_SKIP() << "this system allows no containers";

  check(kill(program, SIGKILL), "kill");
  EXPECT_EQ(cookbook::exit_code_of(program), -SIGKILL);
  // It is the first process of its own namespace: only SIGKILL ends such a one without its consent.
  EXPECT_EQ(cookbook::exit_code_of(-1, std::chrono::seconds(10)), -SIGKILL);
  notes->may_end = true;
  while (waitpid(-1, nullptr, 0) > 0) continue;
  const std::filesystem::path top = "/sys/fs/cgroup", own = "/proc/self/cgroup";  // where its group is still
  const std::string name = "container_limits." + std::to_string(program);
  rmdir((top / name).c_str());
  for (const char* controller : {"pids", "memory"})
    rmdir((top / controller / group_of(own, controller) / name).c_str());
}

TEST(container_limits_filter, allows_what_is_in_the_list_and_refuses_all_else) {
  SKIP_UNDER_ADDRESS_SANITIZER();
  const std::vector<unsigned> list = {SYS_getppid, SYS_exit_group};
  EXPECT_EQ(in_child([&] {
              allow_system_calls(list);
              if (syscall(SYS_getppid) <= 0) return 1;
              for (const long refused : {long{SYS_getuid}, long{SYS_openat}, long{SYS_openat2}, long{SYS_unshare}}) {
                if (syscall(refused, 0, 0, 0, 0) != -1 || errno != EPERM) return 2;
              }
              return 0;
            }),
            0);
}

TEST(container_limits_filter, the_list_of_the_attacks_has_no_call_that_leads_out) {
  // Written down again, so that whoever adds a call to the list has to judge it here, too.
  const std::set<unsigned> harmless = {
#ifdef SYS_fork
      SYS_fork,      SYS_open,     SYS_mkdir,  SYS_pause,   SYS_poll,
#endif
      SYS_clone,     SYS_clone3,   SYS_openat, SYS_mkdirat, SYS_chdir, SYS_write,          SYS_mmap,
      SYS_munmap,    SYS_mprotect, SYS_brk,    SYS_madvise, SYS_ppoll, SYS_rt_sigprocmask, SYS_set_robust_list,
      SYS_rseq,      SYS_gettid,   SYS_getpid, SYS_futex,   SYS_wait4, SYS_sigaltstack,    SYS_exit,
      SYS_exit_group};
  for (const unsigned call : needed) EXPECT_TRUE(harmless.contains(call)) << call;
}

TEST(container_limits_filter, is_for_good_and_for_children) {
  SKIP_UNDER_ADDRESS_SANITIZER();
  EXPECT_EQ(in_child([] {
              allow_system_calls({SYS_exit_group, SYS_clone, SYS_wait4, SYS_getpid, SYS_gettid, SYS_rt_sigprocmask,
                                  SYS_set_robust_list, SYS_rseq, SYS_prctl, SYS_getppid, SYS_futex});
              if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr) != -1 || errno != EPERM) return 1;
              const pid_t child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
              if (child == 0) syscall(SYS_exit_group, syscall(SYS_getuid) == -1 && errno == EPERM ? 0 : 1);
              int status = -1;
              return syscall(SYS_wait4, child, &status, 0, nullptr) == child && status == 0 ? 0 : 2;
            }),
            0);
}

#ifdef __x86_64__
TEST(container_limits_filter, numbers_of_another_architecture_are_no_way_around_it) {
  SKIP_UNDER_ADDRESS_SANITIZER();
  EXPECT_EQ(in_child([] {
              allow_system_calls({SYS_getppid, SYS_exit_group});
              errno = 0;  // the same call in the table of x32, with the bit 30
              return syscall(SYS_getppid | 0x40000000) == -1 && errno == EPERM ? 0 : 1;
            }),
            0);
  EXPECT_EQ(in_child([] {
              allow_system_calls({SYS_getppid, SYS_exit_group, 20});
              long result = 20;  // getpid in the table of 32 bits
              asm volatile("int $0x80" : "+a"(result) : : "memory");
              return 1;
            }),
            -SIGSYS);
}
#endif

TEST(container_limits_capabilities, none_is_left_and_none_comes_back) {
  EXPECT_EQ(in_child([] {
              if (!is_root()) return 0;
              drop_capabilities();
              if (chroot("/") == 0 || errno != EPERM) return 1;
              if (mount("tmpfs", "/tmp", "tmpfs", 0, nullptr) == 0) return 2;
              for (int one = 0; prctl(PR_CAPBSET_READ, one, 0, 0, 0) >= 0; ++one) {
                if (prctl(PR_CAPBSET_READ, one, 0, 0, 0) != 0) return 3;
              }
              return geteuid() == 0 ? 0 : 4;
            }),
            0);
}

TEST(container_limits_root, pivot_root_leaves_no_way_to_the_old_root) {
  const TemporaryDirectory folder;
  std::filesystem::create_directories(folder.path / "root/etc");
  const int code = in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
    pivot_root((folder.path / "root").string());
    if (open("/etc/passwd", O_RDONLY) >= 0) return 1;
    if (chdir("/../../..") != 0 || open("usr", O_RDONLY) >= 0) return 2;
    std::size_t entries = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/")) entries += entry.path() == "/etc";
    if (entries != 1) return 3;
    std::ifstream mounts("/proc/self/mounts");
    return mounts ? 4 : 0;  // there is no /proc either
  });
  if (code == 77) GTEST_SKIP() << "this system allows no namespaces of mounts";
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(std::filesystem::exists("/usr")) << "only the child has another root";
}

/// With an ordinary folder in the place of /sys/fs/cgroup, where writing makes files.
TEST(container_limits_cgroup, writes_the_files_of_version_2) {
  const TemporaryDirectory top;
  std::ofstream(top.path / "cgroup.controllers") << "cpu memory pids";
  {
    const ControlGroup group("one", {20, 64 << 20}, top.path);
    group.enter();
    EXPECT_EQ(test_support::text_of(top.path / "one/pids.max"), "20");
    EXPECT_EQ(test_support::text_of(top.path / "one/memory.max"), "67108864");
    EXPECT_EQ(test_support::text_of(top.path / "one/memory.swap.max"), "0");
    EXPECT_EQ(test_support::text_of(top.path / "one/cgroup.procs"), "0");
    EXPECT_THROW(ControlGroup("one", {20, 64 << 20}, top.path), std::system_error) << "it is there already";
  }
  EXPECT_THROW(ControlGroup("two", {1, 1}, top.path / "none"), std::system_error);
}

TEST(container_limits_cgroup, finds_its_own_place_by_the_whole_name_of_a_controller) {
  const TemporaryDirectory folder;
  const std::filesystem::path list = folder.path / "cgroup";
  std::ofstream(list) << "12:pids2:/x\n11:mypids:/y\n10:memory:/\n9:pid:/z\n8:pids:/a/b\n1:name=systemd:/c:d\n0::/e\n";
  EXPECT_EQ(group_of(list, "pids"), "a/b");
  EXPECT_EQ(group_of(list, "memory"), "");
  EXPECT_EQ(group_of(list, "name=systemd"), "c:d");
  EXPECT_EQ(group_of(list, "cpu"), "") << "is not in the list";
  EXPECT_EQ(group_of(folder.path / "none", "pids"), "");
}

TEST(container_limits_denied, opens_a_file_by_a_call_that_is_not_in_the_list) {
  SKIP_UNDER_ADDRESS_SANITIZER();
  const auto result = run("container_limits_denied");
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_THAT(result.out, testing::ElementsAre("before the filter", "openat: refused", "openat2: let through"));
}

}  // namespace
