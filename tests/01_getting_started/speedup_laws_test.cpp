// Speedup and its laws: the program seen from outside. Catalogue: 1.C23 to 1.C28.

#include <algorithm>
#include <filesystem>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::count;
using test_support::Folder;
using test_support::run;
using test_support::text_of;
namespace fs = std::filesystem;

const std::vector<std::string> quick = {"--units", "200", "--rounds", "1"};

test_support::Result run_quick(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), quick.begin(), quick.end());
  return run("speedup_laws", arguments);
}

TEST(speedup_laws, formulas_give_the_numbers_that_are_known) {
  const auto result = run_quick({});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const std::string line :
       {"8 s alone, 2 s together: speedup: 4",
        "its kind on 4, 5 and 3 processors: [\"linear\", \"real\", \"superlinear\"]",
        "its efficiency on 4, 5 and 3: [1, 0.8, 1.3333]", "Amdahl: [1, 1.8182, 3.0769, 4.7059, 5.2632, 9.1743]",
        "Amdahl, processors without end: 10", "Gustafson: [1, 1.9, 3.7, 7.3, 9.1, 90.1]",
        "Gustafson, 64 processors, nothing and all serial: [64, 1]",
        "serial part that explains a speedup of 4.7059 on 8: 0.1"}) {
    EXPECT_TRUE(result.has_line("ok    " + line)) << line << "\n" << result.text();
  }
}

TEST(speedup_laws, the_job_gives_the_same_sum_for_any_number_of_threads) {
  for (const std::string threads : {"1", "2", "3", "8", "17"}) {
    const auto result = run_quick({"--threads", threads});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    runs with another sum than one flow: 0")) << result.text();
    EXPECT_EQ(result.lines_with("^ +\\d+ % +" + threads + " ").size(), 4U) << result.text();
  }
}

TEST(speedup_laws, the_laws_stand_beside_what_was_measured) {
  const auto result = run_quick({"--threads", "8"});
  const auto amdahl = result.captures("^ +10 % +8 +[0-9.]+ x +([0-9.]+) x");
  const auto gustafson = result.captures("^ +10 % +8 .* ([0-9.]+) x$");
  EXPECT_EQ(amdahl, std::vector<std::string>{"4.71"}) << result.text();
  EXPECT_EQ(gustafson, std::vector<std::string>{"7.30"}) << result.text();
}

TEST(speedup_laws, one_thread_gains_nothing_and_a_serial_part_holds_it_up) {
  const auto result = run("speedup_laws", {"--threads", "1"});
  for (const std::string& speedup : result.captures("^ +\\d+ % +1 +([0-9.]+) x")) {
    EXPECT_GT(std::stod(speedup), 0.4) << result.text();
    EXPECT_LT(std::stod(speedup), 2.5) << result.text();
  }
}

TEST(speedup_laws, draws_curves_and_points_where_it_is_told_to) {
  const Folder folder;
  const fs::path file = folder.path / "laws.svg";
  const auto result = run_quick({"--threads", "4", "--out", file.string()});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const std::string picture = text_of(file);
  EXPECT_EQ(picture.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0), 0U) << picture;
  EXPECT_EQ(count(picture, "<polyline"), 8);  // four serial parts, two laws
  EXPECT_EQ(count(picture, "<circle"), 24);   // 1, 2 and 4 threads on each curve
  EXPECT_EQ(count(picture, "nan"), 0) << picture;
  EXPECT_EQ(count(picture, "</svg>"), 1);
}

TEST(speedup_laws, draws_nothing_unasked) {
  const Folder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path);
  run_quick({});
  fs::current_path(before);
  EXPECT_TRUE(fs::is_empty(folder.path));
}

TEST(speedup_laws, a_picture_that_cannot_be_written_is_an_error) {
  const auto result = run_quick({"--out", "/no/such/folder/laws.svg"});
  EXPECT_EQ(result.exit_code, 3) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("/no/such/folder/laws.svg"));
}

}  // namespace
