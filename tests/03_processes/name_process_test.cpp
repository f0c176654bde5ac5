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
#include <filesystem>
#include <fstream>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(name_process, each_process_has_two_names) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = run("name_process", {"--delay-ms", "100"});
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  for (const std::string row : {"the parent +- +name_process +name_process --delay-ms 100",
                                "a child that takes no name +- +name_process +name_process --delay-ms 100",
                                "a child with a short name +foo_process +foo_process +foo_process",
                                "a child with a long name +image_converter_2 +image_converter +image_converter_2"}) {
    EXPECT_EQ(result.lines_with("^" + row + "$").size(), 1U) << row << '\n' << result.text();
  }
  EXPECT_TRUE(result.has_line("ok    a child that takes no name is called as its parent is: yes")) << result.text();
  EXPECT_TRUE(result.has_line("ok    children that have other names than they took: 0")) << result.text();
}

TEST(name_process, ps_shows_the_names) {
  const std::string script =
      test_support::bin() +
      "/name_process --delay-ms 10000 >/dev/null & for i in $(seq 500); do "
      "seen=$(ps --ppid $! -o comm= -o args= | tr -s ' ' | LC_ALL=C sort | tr '\\n' ';'); "
      "case $seen in 'foo_process foo_process;image_converter image_converter_2;name_process '*'/name_process "
      "--delay-ms 10000;') "
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
  EXPECT_EQ(command_line.room(), 17U);
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
  EXPECT_EQ(CommandLine(0, &nothing).room(), 0U);
}

TEST(name_process_take_name, in_a_child_leaves_the_names_of_its_parent_alone) {
  Memory memory;
  const CommandLine command_line(2, memory.argv.data());
  const std::string before = read_in_proc(getpid(), "comm");
  cookbook::ChildProcess child([&] {
    take_name(command_line, "a_name_of_19_bytes_");
    cookbook::println("{} {}", read_in_proc(getpid(), "comm"), memory.text.data());
  });
  EXPECT_EQ(child.read_line(), "a_name_of_19_by a_name_of_19_byte");
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(read_in_proc(getpid(), "comm"), before);
  EXPECT_STREQ(memory.text.data(), "program");
}

TEST(name_process, a_child_that_cannot_take_its_name_does_not_keep_the_parent_waiting) {
  for (const std::string name : {"foo_process", "image_converter_2"}) {
    cookbook::ChildProcess program(
        [&] {
          refused_name = name;
          char path[] = "/a_long_folder/name_process";
          char* argv[] = {path, nullptr};
          _exit(main_of_the_program(1, argv));
        },
        cookbook::ChildProcess::Output::piped_with_errors);
    const std::optional<int> code = program.wait(std::chrono::seconds(10));
    ASSERT_TRUE(code) << name << ": it waits for ever";
    EXPECT_EQ(*code, 3) << name;
    EXPECT_THAT(program.read_all(), testing::HasSubstr("prctl")) << name;
  }
}

TEST(name_process, a_command_line_with_little_room_is_cut_off) {
  const test_support::TemporaryDirectory folder;
  std::filesystem::create_symlink(test_support::bin() + "/name_process", folder.path / "np");
  const auto result = run("/bin/sh", {"-c", "cd " + folder.path.string() + "; exec ./np"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  for (const std::string row : {"a child with a short name +foo_process +foo_process +foo_",
                                "a child with a long name +image_converter_2 +image_converter +imag"}) {
    EXPECT_EQ(result.lines_with("^" + row + "$").size(), 1U) << row << '\n' << result.text();
  }
}

TEST(name_process, killed_it_leaves_nothing_behind) {
  const auto killed = run("name_process", {"--delay-ms", "10000"}, {.kill_after_ms = 50});
  EXPECT_EQ(killed.exit_code, -9) << killed.text();
  EXPECT_EQ(killed.leaked_processes, 0);
}

}  // namespace
