// Vector sum in OpenCL: the program seen from outside. Catalogue: 6.C12, 6.13, 8.C12, 8.6.

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>

#include "support/run.hpp"

namespace {

using Vector = std::vector<int>;
using test_support::bin;
using test_support::Result;
using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

/// These tests ask whether the measured results are right, not how fast they come.
const test_support::Setting one_round = {.environment = {{"COOKBOOK_ROUNDS", "1"}}};

/// The results that the two editions of the source printed. In the second, element 72 reads 80, and 180 is right.
const Vector first_printed = {98,  72,  104, 74,  131, 94,  164, 21,  64,  102, 142, 106, 140, 98,  145, 93,  108,
                              90,  84,  75,  146, 75,  24,  180, 64,  121, 6,   122, 86,  146, 45,  47,  90,  59,
                              114, 151, 72,  134, 55,  179, 73,  91,  84,  158, 38,  140, 40,  47,  65,  111, 59,
                              60,  79,  109, 66,  28,  56,  164, 111, 176, 82,  94,  60,  56,  166, 138, 103, 53,
                              120, 139, 54,  93,  114, 183, 96,  167, 45,  111, 70,  122, 120, 118, 107, 91,  132,
                              132, 74,  80,  119, 149, 157, 59,  86,  7,   92,  132, 95,  103, 32,  129};
const Vector second_printed = {70,  54,  76,  154, 182, 194, 141, 96,  77,  52,  100, 162, 126, 112, 151, 156, 111,
                               117, 152, 97,  161, 100, 60,  75,  98,  118, 75,  70,  28,  129, 37,  101, 133, 80,
                               95,  91,  130, 58,  74,  134, 177, 145, 115, 76,  84,  36,  44,  54,  91,  144, 68,
                               141, 53,  80,  156, 164, 121, 151, 74,  35,  107, 80,  92,  106, 106, 64,  59,  86,
                               81,  94,  170, 104, 180, 76,  92,  13,  61,  69,  171, 70,  87,  125, 121, 119, 76,
                               72,  55,  8,   69,  55,  144, 146, 124, 173, 18,  152, 93,  86,  158, 74};

/// The numbers that stand below the line `heading`.
Vector vector_below(const Result& result, const std::string& heading) {
  Vector numbers;
  auto line = std::find(result.out.begin(), result.out.end(), heading);
  while (line != result.out.end() && ++line != result.out.end() &&
         line->find_first_not_of(" 0123456789") == std::string::npos) {
    std::istringstream row(*line);
    for (int number = 0; row >> number;) numbers.push_back(number);
  }
  return numbers;
}

int total(const Vector& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0); }

TEST(opencl_vector_sum, each_of_the_100_sums_is_right) {
  const auto result = run("opencl_vector_sum", {"--large", "0"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const Vector a = vector_below(result, "INPUT VECTOR A"), b = vector_below(result, "INPUT VECTOR B"),
               sum = vector_below(result, "OUTPUT VECTOR RESULT A + B");
  ASSERT_EQ(a.size(), 100U) << result.text();
  ASSERT_EQ(b.size(), 100U) << result.text();
  ASSERT_EQ(sum.size(), 100U) << result.text();
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(0 <= a[i] && a[i] < 100 && 0 <= b[i] && b[i] < 100) << i;
    EXPECT_EQ(sum[i], a[i] + b[i]) << i;
  }
  EXPECT_TRUE(result.has_line("VECTOR LENGTH = 100")) << result.text();
  EXPECT_TRUE(result.has_line("ok    each global id ran once: yes")) << result.text();
  EXPECT_TRUE(result.has_line("ok    100 work-items in groups of 7: CL_INVALID_WORK_GROUP_SIZE")) << result.text();
  EXPECT_TRUE(result.has_line("ok    vectors of different length are refused: yes")) << result.text();
  EXPECT_EQ(result.lines_with("^ok    devices with these sums: [1-9]").size(), 1U) << result.text();
}

TEST(opencl_vector_sum, the_sums_that_the_source_printed) {
  const auto first = run("opencl_vector_sum", {"--large", "0", "--input", "first-edition"});
  if (first.exit_code == skipped) GTEST_SKIP() << first.err[0];
  EXPECT_EQ(first.exit_code, 0) << first.text();
  EXPECT_EQ(vector_below(first, "OUTPUT VECTOR RESULT A + B"), first_printed);
  EXPECT_EQ(total(vector_below(first, "INPUT VECTOR A")), 4998);
  EXPECT_EQ(total(vector_below(first, "INPUT VECTOR B")), 4758);
  EXPECT_EQ(total(vector_below(first, "OUTPUT VECTOR RESULT A + B")), 9756);

  const auto second = run("opencl_vector_sum", {"--large", "0", "--input", "second-edition"});
  EXPECT_EQ(second.exit_code, 0) << second.text();
  EXPECT_EQ(vector_below(second, "OUTPUT VECTOR RESULT A + B"), second_printed);
  EXPECT_EQ(total(vector_below(second, "INPUT VECTOR A")), 5062);
  EXPECT_EQ(total(vector_below(second, "INPUT VECTOR B")), 5010);
  EXPECT_EQ(total(vector_below(second, "OUTPUT VECTOR RESULT A + B")), 10072);
}

TEST(opencl_vector_sum, right_for_every_length_and_group) {
  for (const std::string count : {"1", "100", "101", "1000000"}) {
    for (const std::string group : {"0", "1", "7", "100"}) {
      const auto result = run("opencl_vector_sum", {"--large", "0", "--count", count, "--group", group});
      if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
      EXPECT_EQ(result.exit_code, 0) << result.text();
      EXPECT_TRUE(result.has_line("ok    all sums equal the host's: yes")) << result.text();
      EXPECT_TRUE(result.has_line("ok    element behind the last: -1")) << result.text();
      EXPECT_TRUE(result.has_line("ok    each global id ran once: yes")) << result.text();
    }
  }
}

TEST(opencl_vector_sum, large_vectors_are_right_before_they_are_measured) {
  const auto result = run("opencl_vector_sum", {"--large", "1000003"}, one_round);
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    wrong sums of vector_sum in large vectors: 0")) << result.text();
  EXPECT_TRUE(result.has_line("ok    wrong sums of vector_sum_four in large vectors: 0")) << result.text();
  EXPECT_EQ(result.lines_with("GB/s").size(), 4U) << result.text();
}

TEST(opencl_vector_sum, without_a_device_it_is_skipped_with_a_reason) {
  const auto result =
      run("opencl_vector_sum", {}, {.environment = {{"OCL_ICD_VENDORS", "/nonexistent"}, {"OCL_ICD_FILENAMES", ""}}});
  EXPECT_EQ(result.exit_code, skipped) << result.text();
  EXPECT_EQ(result.out.size(), 2U) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("opencl_vector_sum: skipped, no OpenCL device: "));
}

TEST(opencl_vector_sum, a_wrong_sum_on_the_host_is_no_skip) {
  const auto result =
      run("opencl_vector_sum", {},
          {.environment = {{"OCL_ICD_VENDORS", "/nonexistent"}, {"OCL_ICD_FILENAMES", ""}, {"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
}

TEST(opencl_vector_sum, a_device_that_is_not_there_is_refused) {
  const auto result = run("opencl_vector_sum", {"--device", "63"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 2) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::ContainsRegex("--device 63: there are [0-9]+, numbered from 0"));
}

TEST(opencl_vector_sum, a_refused_call_names_itself_the_error_and_the_line) {
  const auto result = run("opencl_vector_sum", {"--group", "1048576"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 3) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::ContainsRegex("clEnqueueNDRangeKernel: CL_INVALID_WORK_GROUP_SIZE "
                                                    "\\(opencl_vector_sum.cpp:[0-9]+\\)"));
}

TEST(opencl_vector_sum, kernels_that_do_not_compile_show_the_compilers_log) {
  const std::string path = "/tmp/opencl_vector_sum_test." + std::to_string(getpid()) + ".cl";
  std::ofstream(path) << "kernel void vector_sum(global int* sum) { sum[0] = no_such_name; }\n";
  const auto result = run("opencl_vector_sum", {"--kernels", path});
  unlink(path.c_str());
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::Contains(testing::HasSubstr("the kernels do not compile for ")));
  EXPECT_THAT(result.err, testing::Contains(testing::HasSubstr("no_such_name")));
}

TEST(opencl_vector_sum, kernels_that_cannot_be_read_are_refused) {
  for (const std::string path : {"/nonexistent.cl", "/tmp", "/dev/null"}) {
    const auto result = run("opencl_vector_sum", {"--kernels", path});
    EXPECT_EQ(result.exit_code, 2) << result.text();
    EXPECT_THAT(result.err, testing::ElementsAre("opencl_vector_sum: cannot read kernels from " + path));
  }
}

TEST(opencl_vector_sum, is_clean_under_oclgrind) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "not in a sanitizer's build: Oclgrind has faults of its own, which end the program";
#endif
  const std::string oclgrind = "/usr/bin/oclgrind";
  if (access(oclgrind.c_str(), X_OK) != 0) GTEST_SKIP() << "no oclgrind; scripts/setup --peers installs it";
  for (const std::string group : {"0", "25", "64"}) {
    const auto result = run(oclgrind,
                            {"--data-races", "--uninitialized", "--check-api", bin() + "/opencl_vector_sum", "--large",
                             "4096", "--group", group},
                            one_round);
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("^Selected = Oclgrind").size(), 1U) << result.text();
    // The groups of 7 are the only error, and meant. A fault of a kernel would be told in lines of its own.
    const std::string err = testing::PrintToString(result.err);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), "Oclgrind - OpenCL runtime error detected"), 1) << err;
    EXPECT_THAT(err, testing::HasSubstr("local_work_size[0]=7 does not divide global_work_size[0]=100"));
    EXPECT_THAT(err, testing::Not(testing::ContainsRegex("[Uu]ninit|[Rr]ace|Invalid (read|write)")));
  }
}

}  // namespace
