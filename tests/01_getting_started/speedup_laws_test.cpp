// Speedup and its laws: the program seen from outside. Catalogue: 1.C23 to 1.C28.

#include "01_getting_started/speedup_laws/laws.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

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

TEST(speedup_laws_timing, one_thread_gains_nothing) {
  const auto result = run("speedup_laws", {"--threads", "1"});
  EXPECT_EQ(result.captures("^ +\\d+ % +1 +([0-9.]+) x").size(), 4U) << result.text();
  for (const std::string& speedup : result.captures("^ +\\d+ % +1 +([0-9.]+) x")) {
    EXPECT_GT(std::stod(speedup), 0.4) << result.text();
    EXPECT_LT(std::stod(speedup), 2.5) << result.text();
  }
}

/// The medians of a table's rows of one series, over the threads, as the JSON records have them.
std::vector<double> points(const test_support::Result& result, const std::string& table, const std::string& series) {
  std::vector<double> medians;
  for (const std::string& median : result.captures("\"table\": \"" + table + "\", \"row\": \"" + series +
                                                   ", \\d+ threads\", \"unit\": \"x\", \"median\": ([0-9.e+]+),")) {
    medians.push_back(std::stod(median));
  }
  return medians;
}

TEST(speedup_laws, under_json_every_point_of_the_picture_is_a_record) {
  const auto result = run_quick({"--threads", "3", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.lines_with("^[^{]").empty()) << result.text();
  for (const int percent : {0, 10, 25, 50}) {
    const std::string series = std::to_string(percent) + " % serial, ";
    const double serial_part = percent / 100.0;
    std::vector<double> by_amdahl, by_gustafson;
    for (const int threads : {1, 2, 4, 8, 16}) {
      by_amdahl.push_back(1 / (serial_part + (1 - serial_part) / threads));
      by_gustafson.push_back(serial_part + (1 - serial_part) * threads);
    }
    EXPECT_THAT(points(result, "speedup, the same work", series + "Amdahl"),
                testing::Pointwise(testing::DoubleNear(1e-9), by_amdahl));
    EXPECT_THAT(points(result, "speedup, more work", series + "Gustafson"),
                testing::Pointwise(testing::DoubleNear(1e-9), by_gustafson));
    EXPECT_EQ(points(result, "speedup, the same work", series + "measured").size(), 3U);  // 1, 2 and 3 threads
    EXPECT_EQ(points(result, "speedup, more work", series + "measured").size(), 3U);
  }
}

TEST(laws, agree_with_each_other) {
  for (const double serial_part : {0.0, 0.1, 0.5, 1.0}) {
    for (const double processors : {2.0, 3.0, 64.0}) {
      EXPECT_NEAR(serial_part_of(amdahl(serial_part, processors), processors), serial_part, 1e-12);
      EXPECT_LE(amdahl(serial_part, processors), gustafson(serial_part, processors) + 1e-12);
    }
  }
  EXPECT_NEAR(amdahl(0.1, 1e12), amdahl_limit(0.1), 1e-6);
}

}  // namespace
