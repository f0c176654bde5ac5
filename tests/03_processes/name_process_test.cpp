// The program's output, its children and the names from inside.

#include <sys/prctl.h>

#include <cerrno>
#include <string>

inline std::string refused_name;  // the name that a test refuses

inline int prctl_or_refuse(int option, const char* name) {
  errno = EPERM;
  return name == refused_name ? -1 : prctl(option, name);
}

#define prctl prctl_or_refuse
#define main main_of_the_program  // its functions are tested from inside, too
#include "03_processes/name_process/name_process.cpp"
#undef main
#undef prctl

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "one_shot_event.hpp"
#include "shared_memory.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(name_process, each_process_has_three_names) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = run("name_process", {"--delay-ms", "100"});
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  for (const std::string row : {"the parent +MainProcess +name_process +name_process --delay-ms 100",
                                "a child of start_child +MainProcess +name_process +name_process --delay-ms 100",
                                "a child named foo_process +foo_process +foo_process +foo_process",
                                "a child with default name +Process-2 +Process-2 +Process-2",
                                "a child with a long name +image_converter_2 +image_converter +image_converter_2"}) {
    EXPECT_EQ(result.lines_with("^" + row + "$").size(), 1U) << row << '\n' << result.text();
  }
  EXPECT_TRUE(result.has_line(R"(ok    own names: ["MainProcess", "foo_process", "Process-2", "image_converter_2"])"))
      << result.text();
  EXPECT_TRUE(result.has_line(R"(ok    short names: ["foo_process", "Process-2", "image_converter"])"));
  EXPECT_TRUE(result.has_line(R"(ok    command lines: ["foo_process", "Process-2", "image_converter_2"])"));
}

TEST(name_process, ps_shows_the_names) {
  const std::string script =
      test_support::bin() +
      "/name_process --delay-ms 10000 >/dev/null & for i in $(seq 500); do "
      "seen=$(ps --ppid $! -o comm= -o args= | tr -s ' ' | LC_ALL=C sort | tr '\\n' ';'); "
      "case $seen in 'Process-2 Process-2'*'foo_process foo_process'*'image_converter image_converter_2'*) "
      "echo seen; break;; esac; sleep 0.01; done; "
      "for name in image_converter_2 image_converter; do pgrep -c -P $! -x $name; done; kill $!";
  const auto result = run("/bin/sh", {"-c", script});
  EXPECT_THAT(result.out, testing::ElementsAre("seen", "0", "1")) << result.text();
}

/// A command line with room for 17 characters and a zero, as the system would have put it into memory.
struct Memory {
  std::array<char, 18> text = {'p', 'r', 'o', 'g', 'r', 'a', 'm', 0, '-', '-', 'd', 'e', 'l', 'a', 'y', '=', '1', 0};
  std::array<char*, 3> argv = {&text[0], &text[8], nullptr};
};

TEST(name_process_command_line, is_replaced_and_cut_off_where_its_room_ends) {
  Memory memory;
  const CommandLine command_line(2, memory.argv.data());
  command_line.set("sixteen_letters!");
  EXPECT_STREQ(memory.text.data(), "sixteen_letters!");
  command_line.set("foo");
  EXPECT_STREQ(memory.text.data(), "foo");
  EXPECT_EQ(memory.text[4], 0) << "nothing of the longer one is left";
  command_line.set("seventeen_letters_and_more");
  EXPECT_STREQ(memory.text.data(), "seventeen_letters");
}

TEST(name_process_command_line, strings_that_stand_elsewhere_do_not_belong_to_it) {
  Memory memory;
  std::array<char, 8> other = {'o', 't', 'h', 'e', 'r', 0};
  memory.argv[1] = other.data();
  CommandLine(2, memory.argv.data()).set("a_long_name");
  EXPECT_STREQ(memory.text.data(), "a_long_");
  EXPECT_STREQ(other.data(), "other");
}

TEST(name_process_command_line, of_a_program_without_arguments_is_left_as_it_is) {
  char* nothing = nullptr;
  CommandLine(0, &nothing).set("foo");  // would write to no memory
}

using Name = std::array<char, 32>;

TEST(name_process_start_named, the_counter_counts_children_with_a_name_too_and_starts_anew_in_each_child) {
  Memory memory;
  const CommandLine command_line(2, memory.argv.data());
  const Shared<Name> seen, grandchild;
  processes_started = 0;
  const auto save = [](const std::string& name, Name& place) { name.copy(place.data(), place.size() - 1); };
  EXPECT_EQ(start_named(command_line, "first", [] {}).name, "first");
  const NamedProcess second = start_named(command_line, "", [&] {
    save(own_name, *seen);
    const NamedProcess process = start_named(command_line, "", [] {});
    save(process.name, *grandchild);
    cookbook::exit_code_of(process.id);
  });
  EXPECT_EQ(second.name, "Process-2");
  EXPECT_EQ(cookbook::exit_code_of(second.id), 0);
  EXPECT_STREQ(seen->data(), "Process-2") << "the name that the child sees";
  EXPECT_STREQ(grandchild->data(), "Process-1");
  EXPECT_EQ(own_name, "MainProcess") << "the parent keeps its name";
  EXPECT_EQ(cookbook::exit_code_of(-1), 0);
}

TEST(name_process_start_named, a_child_that_is_ended_like_a_daemon_never_exits_by_itself) {
  Memory memory;
  const CommandLine command_line(2, memory.argv.data());
  const Shared<int> exited(0);
  OneShotEvent works;
  const NamedProcess child = start_named(command_line, "foo_process", [&] {
    works.give();
    pause();
    ++*exited;
  });
  works.wait();
  EXPECT_EQ(kill(child.id, SIGTERM), 0);
  EXPECT_EQ(cookbook::exit_code_of(child.id), -SIGTERM);
  EXPECT_EQ(*exited, 0);
}

TEST(name_process_child, its_names_are_read_when_it_has_told_them_and_it_waits_for_that) {
  Child child;
  const pid_t id = cookbook::start_child([&] {
    usleep(200'000);
    own_name = "late";
    check(prctl(PR_SET_NAME, "late_in_proc"), "prctl");
    child.work(std::chrono::milliseconds(1));
  });
  const Names names = child.print_names("a child that begins late", id);
  EXPECT_EQ(names.own, "late");
  EXPECT_EQ(names.short_name, "late_in_proc");
  EXPECT_FALSE(names.command_line.empty()) << "it has not ended before";
  usleep(50'000);
  EXPECT_FALSE(read_in_proc(id, "cmdline").empty()) << "it ends when it may, and no sooner";
  EXPECT_EQ(child.end(), 0);
}

TEST(name_process_child, tells_as_much_of_its_name_as_there_is_room_for) {
  for (const std::size_t length : {62U, 63U, 64U, 65U, 200U}) {
    Child child;
    const std::string name(length, 'x');
    const pid_t id = cookbook::start_child([&] {
      own_name = name;
      child.work(std::chrono::milliseconds(1));
    });
    EXPECT_EQ(child.print_names("a child with a long name", id).own, name.substr(0, 63));
    EXPECT_EQ(child.end(), 0);
  }
}

TEST(name_process_child, tells_its_name_before_it_gives_the_sign) {
  Child child;
  static void* place = child.told_name->data();  // the beginning of a page
  const pid_t id = cookbook::start_child([&] {
    own_name = "slow";
    std::signal(SIGSEGV, [](int) { usleep(200'000), mprotect(place, 64, PROT_READ | PROT_WRITE); });
    check(mprotect(place, 64, PROT_NONE), "mprotect");  // so telling the name takes 200 ms
    child.work(std::chrono::milliseconds(1));
  });
  EXPECT_EQ(child.print_names("a child that tells its name slowly", id).own, "slow");
  EXPECT_EQ(child.end(), 0);
}

TEST(name_process, a_child_that_ends_before_its_sign_is_a_failure_and_does_not_keep_the_parent_waiting) {
  for (const std::string name : {"foo_process", "Process-2", "image_converter_2"}) {
    cookbook::ChildProcess program([&] {
      refused_name = name;
      processes_started = 0;
      char path[] = "/a_long_folder/name_process";
      char* argv[] = {path, nullptr};
      _exit(main_of_the_program(1, argv));
    });
    const std::optional<int> code = program.wait(std::chrono::seconds(10));
    ASSERT_TRUE(code) << name << ": it waits for ever";
    EXPECT_EQ(*code, 1) << name;
    EXPECT_THAT(program.read_all(), testing::ContainsRegex("FAIL  exit codes of the children: .*3")) << name;
  }
}

TEST(name_process_one_shot_event, says_whether_the_sign_has_come_or_will_not_come_any_more) {
  for (const bool gives : {true, false}) {
    OneShotEvent event;
    const pid_t child = cookbook::start_child([&] {
      if (gives) event.give();
    });
    EXPECT_EQ(event.wait(), gives);
    EXPECT_EQ(cookbook::exit_code_of(child), 0);
  }
}

TEST(name_process, a_command_line_with_little_room_is_cut_off) {
  const test_support::TemporaryDirectory folder;
  std::filesystem::create_symlink(test_support::bin() + "/name_process", folder.path / "np");
  const auto result = run("/bin/sh", {"-c", "cd " + folder.path.string() + "; exec ./np"});
  EXPECT_TRUE(result.has_line(R"(ok    short names: ["foo_process", "Process-2", "image_converter"])"))
      << result.text();
  EXPECT_THAT(result.lines_with(R"(command lines: \["foo_", "Proc", "imag"\])"), testing::SizeIs(1)) << result.text();
}

TEST(name_process, killed_it_leaves_nothing_behind) {
  const auto killed = run("name_process", {"--delay-ms", "10000"}, {.kill_after_ms = 50});
  EXPECT_EQ(killed.exit_code, -9) << killed.text();
  EXPECT_EQ(killed.leaked_processes, 0);
}

}  // namespace
