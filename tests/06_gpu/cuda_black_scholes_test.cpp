// The program's output, and the formula on the host.

#include "06_gpu/cuda_black_scholes/black_scholes.hpp"

#include <algorithm>
#include <random>
#include <regex>
#include <stdexcept>
#include <string>
#include <utility>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// A row of the output: what the options and the prices take in MB, and the kernels in us.
struct Row {
  double options, prices, alone, with_formula;
};

Row row_of(const test_support::Result& result, const std::string& where) {
  const std::string row = "^" + where + " +([0-9]+) MB +([0-9]+) MB +([0-9]+) us +([0-9]+) us$";
  std::smatch match;
  for (const std::string& line : result.out) {
    if (std::regex_match(line, match, std::regex(row))) {
      return {std::stod(match[1]), std::stod(match[2]), std::stod(match[3]), std::stod(match[4])};
    }
  }
  throw std::runtime_error("no row " + where + "\n" + result.text());
}

TEST(cuda_black_scholes, every_layout_gives_the_right_prices_for_any_number_of_options) {
  for (const std::string count : {"1", "255", "256", "257", "100001"}) {
    const auto result = run("cuda_black_scholes", {"--options", count});
    if (result.exit_code == 77) GTEST_SKIP() << result.text();
    EXPECT_EQ(result.exit_code, 0) << result.text();
    ASSERT_EQ(result.out.size(), 8U) << result.text();
    EXPECT_EQ(result.out[0], count + " options, of each of which 12 bytes are needed");
    EXPECT_TRUE(result.has_line("ok    results of the loads and stores alone that are wrong: 0")) << result.text();
    EXPECT_TRUE(result.has_line("ok    prices that are not within 0.0001 of the processor's: 0")) << result.text();
  }
}

TEST(cuda_black_scholes, says_how_large_the_arrays_are) {
  const auto result = run("cuda_black_scholes", {"--options", "1000000"});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  const std::pair<std::string, double> expected[] = {
      {"columns", 12}, {"structs of 12 bytes", 12}, {"structs of 32 bytes", 32}, {"structs of 64 bytes", 64}};
  for (const auto& [where, megabytes] : expected) {
    const Row row = row_of(result, where);
    EXPECT_EQ(row.options, megabytes);
    EXPECT_EQ(row.prices, 8);
  }
}

TEST(cuda_black_scholes_timing, fields_that_nobody_needs_are_loaded_as_well) {
  const auto result = run("cuda_black_scholes");
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  const Row columns = row_of(result, "columns"), of_12 = row_of(result, "structs of 12 bytes");
  const Row of_32 = row_of(result, "structs of 32 bytes"), of_64 = row_of(result, "structs of 64 bytes");
  EXPECT_LT(of_12.alone, 1.25 * columns.alone) << result.text();
  EXPECT_GT(of_32.alone, 1.2 * of_12.alone) << result.text();
  EXPECT_GT(of_64.with_formula, columns.with_formula) << result.text();
  // The formula costs something where little is loaded.
  EXPECT_GT(columns.with_formula, columns.alone) << result.text();
  // 720 MB are loaded and stored, by an H200 at 4.4 TB/s. A time ten times too short would be 44 TB/s.
  EXPECT_GT(of_64.alone, 24) << "us: more than memory moves\n" << result.text();
}

struct Known {
  Option<double> option;
  double call, put, exact_call, exact_put;  ///< by the polynomial, and by the exact normal distribution
};

const Known known[] = {
    {{20, 20, 1}, 2.5643169307981903, 2.168290396933296, 2.564316278538284, 2.1682897446733875},
    {{30, 1, 0.25}, 29.00498752080732, 0, 29.00498752080732, 0},
    {{5, 100, 10}, 0.008015234567544157, 76.88109054236574, 0.008019286451671825, 76.88109459424986},
    {{17.5, 50.5, 5.125}, 0.6611873819927339, 28.741383944515476, 0.6611848722094285, 28.741381434732176}};

TEST(cuda_black_scholes_price, is_the_known_one) {
  for (const Known& k : known) {
    const Prices<double> prices = price(k.option);
    EXPECT_NEAR(prices.call, k.call, 1e-12);
    EXPECT_NEAR(prices.put, k.put, 1e-12);
    EXPECT_NEAR(prices.call, k.exact_call, 1e-5);
    EXPECT_NEAR(prices.put, k.exact_put, 1e-5);
  }
}

TEST(cuda_black_scholes_price, in_single_precision_is_near) {
  for (const Known& k : known) {
    const Prices<float> prices = price<float>(
        {static_cast<float>(k.option.stock), static_cast<float>(k.option.strike), static_cast<float>(k.option.years)});
    EXPECT_NEAR(prices.call, k.call, 1e-4);
    EXPECT_NEAR(prices.put, k.put, 1e-4);
  }
}

/// The normal distribution as the standard library knows it.
double exact_normal_distribution(double d) { return std::erfc(-d / std::sqrt(2.0)) / 2; }

TEST(cuda_black_scholes_normal_distribution, is_within_its_error_of_the_exact_one) {
  EXPECT_NEAR(normal_distribution(0.0), 0.49999999947519136, 1e-15);
  double largest = 0;
  for (double d = -8; d <= 8; d += 0.001) {
    largest = std::max(largest, std::abs(normal_distribution(d) - exact_normal_distribution(d)));
  }
  EXPECT_LE(largest, 7.5e-8);
  EXPECT_GE(largest, 7.4e-8);  // near 0.717: the polynomial is the one that is meant
}

TEST(cuda_black_scholes_price, keeps_to_the_laws_for_random_options) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<double> stock(5, 30), strike(1, 100), years(0.25, 10);
  for (int i = 0; i < 100'000; ++i) {
    const Option<double> option{stock(engine), strike(engine), years(engine)};
    const Prices<double> prices = price(option);
    const double strike_today = option.strike * std::exp(-interest * option.years);
    ASSERT_NEAR(prices.call - prices.put, option.stock - strike_today, 1e-12);
    ASSERT_GE(prices.call, -1e-12);
    ASSERT_GE(prices.put, -1e-12);
    ASSERT_LE(prices.call, option.stock + 1e-5);
    ASSERT_LE(prices.put, strike_today + 1e-5);

    const double root = std::sqrt(option.years);
    const double d1 =
        (std::log(option.stock / option.strike) + (interest + volatility * volatility / 2) * option.years) /
        (volatility * root);
    const double exact =
        option.stock * exact_normal_distribution(d1) - strike_today * exact_normal_distribution(d1 - volatility * root);
    ASSERT_NEAR(prices.call, exact, 1e-5);
  }
}

TEST(cuda_black_scholes, is_clean_under_compute_sanitizer) {
  const std::vector<std::vector<std::string>> sizes = {{"--options", "1025"}, {"--options", "2048"}};
  cuda_test::expect_clean("cuda_black_scholes", sizes, {"racecheck"});
  cuda_test::expect_clean("cuda_black_scholes", sizes, {"memcheck"}, {"--leak-check", "full"});
}

}  // namespace
