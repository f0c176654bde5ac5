// System report: the program seen from outside. Catalogue: 0.C1, 0.C2, 0.C4, 1.C1, 1.C12, 1.C29, 1.C30.

#include <sched.h>

#include <filesystem>
#include <fstream>

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

TEST(system_report, a_manifest_that_is_not_there_is_refused) {
  const auto result = run("system_report", {"--manifest", "/nowhere/recipes.tsv"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::ElementsAre(testing::HasSubstr("there is no /nowhere/recipes.tsv")));
  EXPECT_TRUE(result.out.empty());
}

}  // namespace
