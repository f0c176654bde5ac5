// Designing a parallel program: the program seen from outside. Catalogue: 1.C18 to 1.C22.

#include <filesystem>
#include <map>
#include <sstream>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::count;
using test_support::Folder;
using test_support::run;
using test_support::text_of;
namespace fs = std::filesystem;

test_support::Result run_quick(std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.end(), {"--rounds", "1"});
  return run("parallel_design", arguments);
}

/// The efficiencies on paper, in percent, by mapping: for 4, 16, 64 and 256 workers.
std::map<std::string, std::vector<int>> efficiencies(const test_support::Result& result) {
  std::map<std::string, std::vector<int>> rows;
  for (const std::string& line : result.lines_with("^[a-z, ]+[a-z] +\\d+ % +\\d+ % +\\d+ % +\\d+ %$")) {
    const auto name_end = line.find("  ");
    std::istringstream rest(line.substr(name_end));
    std::vector<int>& row = rows[line.substr(0, name_end)];
    for (std::string percent; rest >> percent;) {
      if (percent != "%") row.push_back(std::stoi(percent));
    }
  }
  return rows;
}

TEST(parallel_design, data_and_functions_give_the_same_results) {
  const auto result = run_quick();
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const auto results = result.captures("^ok    by (?:data|function), .*: (\\[.*\\])$");
  ASSERT_EQ(results.size(), 3U) << result.text();
  EXPECT_EQ(results[0], "[13429081562286230782, 8332875729444468320, 5666321134046075379]");
  EXPECT_EQ(results[1], results[0]);
  EXPECT_EQ(results[2], results[0]);
}

TEST(parallel_design, each_item_is_done_once_by_any_number_of_workers) {
  for (const auto& [workers, group, items] : {std::array{"1", "32", "2048"},
                                              {"2", "1", "1000"},
                                              {"3", "7", "777"},
                                              {"8", "32", "500"},
                                              {"17", "3", "64"},
                                              {"64", "1000000", "300"}}) {
    const auto result = run_quick({"--workers", workers, "--group", group, "--items", items});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    runs that missed an item, did one twice or found something else: 0"))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    static runs whose workers had other units than planned: 0")) << result.text();
    EXPECT_EQ(result.lines_with(" most of one worker [0-9.]+ x its perfect share$").size(), 5U) << result.text();
  }
}

TEST(parallel_design, shares_by_speed_end_before_equal_shares) {
  const auto result = run_quick();
  const auto at = [&](const std::string& what) { return std::stod(result.captures(what + " (\\d+)").at(0)); };
  EXPECT_GT(at("as many items each: done after"), at("as many units each:"));
  EXPECT_GT(at("as many units each:"), at("units by speed:"));
  EXPECT_GE(at("units by speed:"), at("at best:"));
  EXPECT_LT(at("units by speed:"), 1.02 * at("at best:"));
}

TEST(parallel_design, groups_that_are_too_small_or_too_large_cost_time) {
  const auto result = run_quick();
  EXPECT_TRUE(
      result.has_line("ok    1000 items, 10 for a group and 1 for an item: groups of 1, 10, 100: [11000, 2000, 1100]"))
      << result.text();
  const auto times = result.captures("^ +\\d+ +\\d+ +\\d+ us +\\d+ us +(\\d+) units$");
  ASSERT_EQ(times.size(), 5U) << result.text();
  EXPECT_GT(std::stol(times[0]), 10 * std::stol(times[3]));  // groups of 1: the manager does nothing but hand over
  EXPECT_GT(std::stol(times[4]), std::stol(times[3]));       // groups of 256: hardly any left to balance with
}

TEST(parallel_design, each_mapping_has_its_range) {
  auto by_name = efficiencies(run_quick());
  ASSERT_EQ(by_name.size(), 6U);
  for (const auto& [name, row] : by_name) {
    ASSERT_EQ(row.size(), 4U) << name;
    for (const int percent : row) {
      EXPECT_GT(percent, 0) << name;
      EXPECT_LE(percent, 100) << name;
    }
    EXPECT_GE(row[0], row[3]) << name;
  }
  EXPECT_LT(by_name["static, in blocks"][0], 50);
  EXPECT_GT(by_name["static, in turns"][0], 90);
  EXPECT_GT(by_name["manager and workers"][0], 90);
  EXPECT_GT(by_name["manager and workers, ahead"][0], by_name["manager and workers"][0]);
  EXPECT_LT(by_name["manager and workers"][3], 15);  // 256 queue up at one manager
  EXPECT_GT(by_name["managers of groups"][3], 3 * by_name["manager and workers"][3]);
  EXPECT_GT(by_name["work stealing"][3], 3 * by_name["manager and workers"][3]);
}

TEST(parallel_design, the_run_on_paper_is_the_same_each_time) {
  EXPECT_EQ(efficiencies(run_quick()), efficiencies(run_quick({"--workers", "5"})));
}

TEST(parallel_design, longest_first_is_close_to_the_best) {
  for (const std::string items : {"64", "333", "2048"}) {
    const auto result = run_quick({"--items", items});
    const auto best = result.captures("mappings ends after (\\d+) units, longest first");
    const auto greedy = result.captures("longest first after (\\d+)$");
    ASSERT_EQ(best.size(), 1U) << result.text();
    ASSERT_EQ(greedy.size(), 1U) << result.text();
    EXPECT_LE(std::stol(best[0]), std::stol(greedy[0]));
    EXPECT_LE(9 * std::stol(greedy[0]), 11 * std::stol(best[0]));
  }
}

TEST(parallel_design, draws_who_did_what_when) {
  const Folder folder;
  const fs::path file = folder.path / "design.svg";
  const auto result = run_quick({"--workers", "3", "--out", file.string()});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const std::string picture = text_of(file);
  EXPECT_EQ(picture.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0), 0U);
  EXPECT_EQ(count(picture, ">work stealing<"), 2);  // on paper and measured
  EXPECT_EQ(count(picture, "measured, 3 workers"), 1);
  // Of 64 tasks in each of 10 runs, the last quarter is costly; a sample of each colour is in the legend.
  EXPECT_EQ(count(picture, "fill=\"#0072b2\"") + count(picture, "fill=\"#56b4e9\""), 10 * 48 + 2);
  EXPECT_EQ(count(picture, "fill=\"#d55e00\"") + count(picture, "fill=\"#e69f00\""), 10 * 16 + 2);
  EXPECT_EQ(count(picture, "nan"), 0);
  EXPECT_EQ(count(picture, "</svg>"), 1);
}

TEST(parallel_design, draws_nothing_unasked) {
  const Folder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path);
  const auto result = run_quick();
  fs::current_path(before);
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(fs::is_empty(folder.path));
}

TEST(parallel_design, a_picture_that_cannot_be_written_is_an_error) {
  const auto result = run_quick({"--out", "/no/such/folder/design.svg"});
  EXPECT_EQ(result.exit_code, 3) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("/no/such/folder/design.svg"));
}

}  // namespace
