// System report: the program seen from outside, and its headers from inside. Catalogue: 0.C1, 0.C2, 0.C4, 1.C1, 1.C12,
// 1.C29, 1.C30.

#if __has_include(<boost/version.hpp>)
#include <boost/version.hpp>
#endif
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "01_getting_started/system_report/look.hpp"
#include "01_getting_started/system_report/manifest.hpp"

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// A manifest in a folder of its own, removed at the end.
class Manifest {
 public:
  explicit Manifest(const std::string& rows) {
    std::ofstream(path()) << "name\tchapter\ttitle\tsummary\trun\tneeds\tmissing\n" << rows;
  }
  std::string path() const { return folder_.path / "recipes.tsv"; }

 private:
  test_support::Folder folder_;
};

TEST(system_report, tells_processors_compiler_and_standard) {
  const auto result = run("system_report");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures("compiler +[^,]+, (C\\+\\+\\d+)$"), std::vector<std::string>{"C++20"}) << result.text();
  EXPECT_EQ(result.lines_with("^  (vectors|caches|memory) +\\S").size(), 3U) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

TEST(system_report, counts_the_processors_that_it_may_use) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int processor = 0; CPU_COUNT(&one) == 0; ++processor) {
    if (CPU_ISSET(processor, &before)) CPU_SET(processor, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const auto result = run("system_report");
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(result.captures("of them for this program (\\d+)"), std::vector<std::string>{"1"}) << result.text();
}

TEST(system_report, all_chapters_are_listed_in_order) {
  const auto result = run("system_report");
  EXPECT_EQ(result.captures("^  (0\\d_\\w+)"),
            (std::vector<std::string>{"01_getting_started", "02_threads", "03_processes", "04_async", "05_distributed",
                                      "06_gpu", "07_cloud", "08_heterogeneous"}));
}

TEST(system_report, names_the_packages_that_recipes_wait_for) {
  const Manifest manifest(
      "lock\t02_threads\tLock\tOne.\tplain\t\t\n"
      "queue\t02_threads\tQueue\tTwo.\tplain\ttbb\tlibtbb-dev\n"
      "sort\t02_threads\tSort\tThree.\tplain\ttbb\tlibtbb-dev\n"
      "hello\t03_processes\tHello\tFour.\tmpi 5\tmpi\topenmpi-bin and libopenmpi-dev\n");
  const auto result = run("system_report", {"--manifest", manifest.path()});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("02_threads .* 1 of 3 built; for 2 more install libtbb-dev$").size(), 1U)
      << result.text();
  EXPECT_EQ(
      result.lines_with("03_processes .* 0 of 1 built; for 1 more install openmpi-bin and libopenmpi-dev$").size(), 1U)
      << result.text();
  EXPECT_EQ(result.lines_with("04_async .* not in this build$").size(), 1U) << result.text();
}

TEST(system_report, a_library_that_is_not_there_is_no_failure) {
  // A library path in which every name that it loads is a text file.
  const test_support::Folder folder;
  for (const char* name : {"libtbb.so.12", "libmpi.so.40", "librabbitmq.so.4", "libOpenCL.so.1", "libcuda.so.1"}) {
    std::ofstream(folder.path / name) << "no library";
  }
  const std::string where = folder.path;
  const auto result = run("system_report", {}, {.environment = {{"LD_LIBRARY_PATH", where}, {"PATH", where}}});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("(oneTBB|Cap'n Proto|RabbitMQ's client|OpenCL) +not found$").size(), 4U) << result.text();
  EXPECT_EQ(result.lines_with("CUDA's (compiler +no nvcc on PATH|devices +none; .*)$").size(), 2U) << result.text();
}

TEST(system_report, libraries_that_are_there_are_named_with_their_version) {
  // The two programs that it asks are played by scripts; the libraries are those of this machine.
  const test_support::Folder folder;
  const auto play = [&](const char* program, const std::string& text) {
    std::ofstream(folder.path / program) << "#!/bin/sh\necho '" << text << "'\n";
    std::filesystem::permissions(folder.path / program, std::filesystem::perms::owner_all);
  };
  play("nvcc", "Cuda compilation tools, release 98.7, V98.7.65");
  play("capnp", "Cap'\\''n Proto version 9.8.7");
  const std::string path = folder.path.string() + ":" + std::getenv("PATH");
  const auto result = run("system_report", {}, {.environment = {{"PATH", path}}});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures("^  CUDA's compiler +(.*)$"), std::vector<std::string>{"release 98.7"});
  EXPECT_EQ(result.captures("^  Cap'n Proto +(.*)$"), std::vector<std::string>{"version 9.8.7"});
#ifdef BOOST_VERSION
  EXPECT_EQ(result.captures("^  Boost's headers +(.*)$"),
            std::vector{"version " + std::to_string(BOOST_VERSION / 100'000) + "." +
                        std::to_string(BOOST_VERSION / 100 % 1000)});
#endif
  for (const auto& [row, file, version] : {std::array{"oneTBB", "libtbb.so.12", "version \\d+\\.\\d+.*"},
                                           {"MPI", "libmpi.so.40", "Open MPI v\\d+\\.\\d+.*"},
                                           {"RabbitMQ's client", "librabbitmq.so.4", "version \\d+\\.\\d+.*"},
                                           {"OpenCL", "libOpenCL.so.1", "the loader.*"}}) {
    const bool is_there = in_a_child([&] { return std::string(Library(file) ? "yes" : "no"); }) == "yes";
    const std::string wanted = is_there ? version : "(?:no|not) .*found|not found";
    EXPECT_EQ(result.lines_with("^  " + std::string(row) + " +(?:" + wanted + ")$").size(), 1U) << row << "\n"
                                                                                                << result.text();
  }
}

TEST(look, a_child_that_answers_crashes_or_fails) {
  EXPECT_EQ(in_a_child([] { return std::string("found"); }), "found");
  EXPECT_EQ(in_a_child([] { return std::string(); }), "");
  EXPECT_EQ(in_a_child([] { return std::string(300'000, 'x'); }).size(), 300'000U);  // more than a pipe holds
  EXPECT_EQ(in_a_child([]() -> std::string {
              raise(SIGKILL), pause();
              return "never";
            }),
            "failed");
  EXPECT_EQ(in_a_child([]() -> std::string { _exit(3); }), "failed");
}

TEST(look, calls_a_function_of_a_library_that_is_loaded_by_name) {
  const Library mathematics("libm.so.6");
  ASSERT_TRUE(mathematics);
  EXPECT_EQ(mathematics.call<double>("floor", 2.5), 2.0);
  EXPECT_EQ(mathematics.call<int>("no_such_function"), 0);
  EXPECT_FALSE(Library("libno_such_library.so.1"));
}

TEST(look, first_line_of_a_command) {
  EXPECT_EQ(first_line_of("echo one; echo two"), "one");
  EXPECT_EQ(first_line_of("no_such_command"), "");
}

TEST(manifest, counts_what_is_built_and_what_is_missing) {
  const Manifest manifest(
      "lock\t02_threads\tLock\tOne.\tplain\t\t\n"
      "queue\t02_threads\tQueue\tTwo.\tplain\ttbb\tlibtbb-dev\n"
      "pipe\t03_processes\tPipe\tThree.\tplain\ttbb\t\n");
  const auto chapters = read_manifest(manifest.path());
  ASSERT_EQ(chapters.size(), 2U);
  EXPECT_EQ(chapters.at("02_threads").recipes, 2);
  EXPECT_EQ(chapters.at("02_threads").built, 1);
  EXPECT_EQ(chapters.at("02_threads").missing, (std::map<std::string, int>{{"libtbb-dev", 1}}));
  EXPECT_EQ(chapters.at("03_processes").built, 1);
}

TEST(system_report, a_manifest_that_is_not_there_is_refused) {
  const auto result = run("system_report", {"--manifest", "/nowhere/recipes.tsv"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::ElementsAre(testing::HasSubstr("there is no /nowhere/recipes.tsv")));
  EXPECT_TRUE(result.out.empty());
}

}  // namespace
