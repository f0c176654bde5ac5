// The five objects from inside, on every device; the program's output. Catalogue: 6.C12, 6.13, 8.C12, 8.6.

// The program's functions are tested from inside, too.
#define main main_of_the_program
#include "08_heterogeneous/opencl_vector_sum/opencl_vector_sum.cpp"
#undef main

#include <unistd.h>

#include <numeric>

#include "support/run.hpp"

namespace {

using test_support::bin;
using test_support::run;

// What the book's two editions printed. In the second one element 72 reads 80; 85 + 95 is 180.
const Vector first_a = {0,  29, 88, 46, 68, 93, 81, 3,  58, 44, 95, 20, 81, 69, 85, 25, 89, 39, 47, 29,
                        47, 48, 20, 86, 59, 99, 3,  26, 68, 62, 16, 13, 63, 28, 77, 57, 59, 45, 52, 89,
                        16, 6,  18, 95, 30, 66, 19, 29, 31, 18, 42, 34, 70, 21, 28, 0,  42, 96, 23, 86,
                        64, 88, 20, 26, 96, 45, 28, 53, 75, 53, 39, 83, 85, 99, 49, 93, 23, 39, 1,  89,
                        39, 87, 62, 29, 51, 66, 5,  66, 48, 53, 66, 8,  51, 3,  29, 96, 67, 38, 22, 88};
const Vector first_b = {98, 43, 16, 28, 63, 1,  83, 18, 6,  58, 47, 86, 59, 29, 60, 68, 19, 51, 37, 46,
                        99, 27, 4,  94, 5,  22, 3,  96, 18, 84, 29, 34, 27, 31, 37, 94, 13, 89, 3,  90,
                        57, 85, 66, 63, 8,  74, 21, 18, 34, 93, 17, 26, 9,  88, 38, 28, 14, 68, 88, 90,
                        18, 6,  40, 30, 70, 93, 75, 0,  45, 86, 15, 10, 29, 84, 47, 74, 22, 72, 69, 33,
                        81, 31, 45, 62, 81, 66, 69, 14, 71, 96, 91, 51, 35, 4,  63, 36, 28, 65, 10, 41};

const Vector second_a = {45, 46, 0,  97, 96, 98, 83, 7,  51, 21, 72, 70, 59, 65, 79, 92, 98, 24, 56, 6,
                         70, 64, 59, 0,  96, 78, 15, 21, 4,  89, 14, 66, 53, 20, 34, 64, 48, 20, 8,  53,
                         82, 66, 19, 53, 11, 17, 39, 11, 89, 97, 51, 53, 7,  4,  92, 82, 90, 78, 31, 18,
                         72, 52, 44, 17, 98, 3,  36, 69, 25, 87, 86, 68, 85, 16, 58, 4,  57, 64, 97, 11,
                         81, 36, 37, 21, 51, 22, 17, 6,  66, 12, 80, 50, 77, 94, 6,  70, 21, 86, 80, 69};
const Vector second_b = {25, 8,  76, 57, 86, 96, 58, 89, 26, 31, 28, 92, 67, 47, 72, 64, 13, 93, 96, 91,
                         91, 36, 1,  75, 2,  40, 60, 49, 24, 40, 23, 35, 80, 60, 61, 27, 82, 38, 66, 81,
                         95, 79, 96, 23, 73, 19, 5,  43, 2,  47, 17, 88, 46, 76, 64, 82, 31, 73, 43, 17,
                         35, 28, 48, 89, 8,  61, 23, 17, 56, 7,  84, 36, 95, 60, 34, 9,  4,  5,  74, 59,
                         6,  89, 84, 98, 25, 50, 38, 2,  3,  43, 64, 96, 47, 79, 12, 82, 72, 0,  78, 5};
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

/// The kernels of the recipe.
const std::string source =
    opencl::read_kernels(opencl::beside(__FILE__, "../../chapters/08_heterogeneous/opencl_vector_sum/vector_sum.cl"));

/// A sum with buffers of its own.
Times sum_on_device(FiveObjects& five, const Vector& a, const Vector& b, Vector& sum, std::size_t items,
                    std::size_t group) {
  return sum_on_device(five, buffers_for(five, a, b, sum), a, b, sum, items, group);
}

/// The sums of a device, and one element more that nobody may write.
Vector sums_of(FiveObjects& five, const Vector& a, const Vector& b, std::size_t group) {
  Vector sum(a.size() + 1, -1);
  sum_on_device(five, a, b, sum, work_items(a.size(), group), group);
  EXPECT_EQ(sum.back(), -1) << "an element behind the end was written";
  sum.pop_back();
  return sum;
}

Vector numbers(std::size_t count, int factor) {
  Vector result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<cl_int>(i * factor % 100);
  return result;
}

TEST(opencl_vector_sum, prints_what_it_has_done) {
  const auto result = run("opencl_vector_sum", {"--count", "100"});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("256 work-items in groups of 256 for 100 elements")) << result.text();
  EXPECT_EQ(
      result.lines_with("^(vectors to the device|kernel|sums to the host|these three|instead: one thread).* ms .* ms$")
          .size(),
      5U)
      << result.text();
  EXPECT_TRUE(result.has_line("ok    every sum is the one that the host computes: yes")) << result.text();
  EXPECT_TRUE(result.has_line("ok    the element behind the last sum is untouched: yes")) << result.text();
  EXPECT_EQ(result.lines_with("^instead: without copies +([0-9.]+ ms +[0-9.]+ ms|- +-)$").size(), 1U) << result.text();
  cl_bool shared = CL_FALSE;
  clGetDeviceInfo(opencl::devices()[0](), CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof shared, &shared, nullptr);
  EXPECT_EQ(result.lines_with("^instead: without copies .* ms$").size(), shared ? 1U : 0U) << result.text();
}

// The vectors are their own buffers on every device; where it has a memory of its own the driver copies them.
TEST(opencl_vector_sum_in_place, leaves_the_sums_in_the_hosts_vector) {
  for (const cl::Device& device : opencl::devices()) {
    FiveObjects five{device, source};
    Vector a = numbers(1000, 3), b = numbers(1000, 7), sum(1024 + 1, -1), expected(sum);
    for (std::size_t i = 0; i < 1000; ++i) expected[i] = a[i] + b[i];
    EXPECT_GT(sum_in_place(five, a, b, sum, 1024, 64), 0);
    EXPECT_EQ(sum, expected) << opencl::name_of(device);
  }
}

/// The last number of a row, which is that of the second run, in ms.
double second_run(const test_support::Result& result, const std::string& row) {
  const auto found = result.captures("^" + row + " .* ([0-9.]+) ms$");
  return found.size() == 1 ? std::stod(found[0]) : -1;
}

// What the page says: the copies cost more than one thread's whole job, and without them the device is faster. A
// processor that is the device has to be given time for it, which a busy machine may not have at once.
TEST(opencl_vector_sum_timing, the_copies_decide) {
  std::string seen;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto result = run("opencl_vector_sum");
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
    const double host = second_run(result, "instead: one thread of the host"),
                 together = second_run(result, "these three together"), kernel = second_run(result, "kernel"),
                 in_place = second_run(result, "instead: without copies");
    ASSERT_TRUE(host > 0 && together > 0 && kernel >= 0) << result.text();
    // That the kernel's time is more than that of a launch shows that it was waited for.
    const bool waited = kernel > 0.02 && (in_place < 0 || kernel > in_place / 4);
    if (waited && together > 0.7 * host && (in_place < 0 || in_place < together)) return;
    seen = result.text();
  }
  FAIL() << seen;
}

// The device's whole part is what is compared with the host, not the kernel alone. Each time is printed with two
// digits.
TEST(opencl_vector_sum, the_three_parts_are_added_up) {
  const auto result = run("opencl_vector_sum");
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  for (const std::string& columns : {std::string("ms +[0-9.]+ ms$"), std::string("ms$")}) {
    const auto parts = result.captures("^(?:vectors to|kernel |sums to)[^0-9]*(?:[0-9.]+ ms +)?([0-9.]+) " + columns);
    const auto together = result.captures("^these three together +(?:[0-9.]+ ms +)?([0-9.]+) " + columns);
    ASSERT_EQ(parts.size(), 3U) << result.text();
    ASSERT_EQ(together.size(), 1U) << result.text();
    EXPECT_NEAR(std::stod(parts[0]) + std::stod(parts[1]) + std::stod(parts[2]), std::stod(together[0]), 0.03);
  }
}

// 100 work-items in groups of 7 are refused in OpenCL 1.2, for which the kernel is compiled.
TEST(opencl_vector_sum_five_objects, groups_that_do_not_divide_the_work_items_are_refused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // PoCL has threads
  const auto devices = opencl::devices();
  if (devices.empty()) GTEST_SKIP() << "no OpenCL device";
  const auto in_groups_of_7 = [&] {
    FiveObjects five{devices[0], source};
    Vector sum(100);
    sum_on_device(five, sum, sum, sum, 100, 7);
  };
  EXPECT_EXIT(in_groups_of_7(), testing::ExitedWithCode(3), "CL_INVALID_WORK_GROUP_SIZE");
}

// Two vectors go to the device and one comes back, and the first run has new buffers to fill.
TEST(opencl_vector_sum_timing, the_way_there_takes_longer_than_the_way_back) {
  const auto result = run("opencl_vector_sum");
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  const auto there = result.captures("^vectors to the device +([0-9.]+) ms"),
             back = result.captures("^sums to the host +([0-9.]+) ms");
  ASSERT_TRUE(there.size() == 1 && back.size() == 1) << result.text();
  EXPECT_GT(std::stod(there[0]), std::stod(back[0])) << result.text();
}

// Each start of a program takes seconds where many wait for a GPU, so the starts are divided among several tests.
void expect_right_on_every_device_for_every_length(const std::string& group) {
  const std::size_t devices = opencl::devices().size();
  for (std::size_t device = 0; device < devices; ++device) {
    for (const std::string count : {"1", "100", "101", "1000000"}) {
      const auto result =
          run("opencl_vector_sum", {"--count", count, "--group", group, "--device", std::to_string(device)});
      EXPECT_EQ(result.exit_code, 0) << result.text();
    }
  }
}

TEST(opencl_vector_sum, right_for_every_length_in_groups_of_1) { expect_right_on_every_device_for_every_length("1"); }
TEST(opencl_vector_sum, right_for_every_length_in_groups_of_7) { expect_right_on_every_device_for_every_length("7"); }
TEST(opencl_vector_sum, right_for_every_length_in_groups_of_100) {
  expect_right_on_every_device_for_every_length("100");
}

TEST(opencl_vector_sum_five_objects, give_the_sums_that_the_book_printed_on_every_device) {
  for (const cl::Device& device : opencl::devices()) {
    FiveObjects five{device, source};
    EXPECT_EQ(sums_of(five, first_a, first_b, 25), first_printed);
    EXPECT_EQ(sums_of(five, second_a, second_b, 64), second_printed);
  }
  EXPECT_EQ(std::accumulate(first_printed.begin(), first_printed.end(), 0), 4998 + 4758);
  EXPECT_EQ(std::accumulate(second_printed.begin(), second_printed.end(), 0), 5062 + 5010);
}

TEST(opencl_vector_sum_five_objects, add_negative_and_large_numbers) {
  for (const cl::Device& device : opencl::devices()) {
    FiveObjects five{device, source};
    EXPECT_EQ(sums_of(five, {-2147483647, 2147483646, 5}, {-1, 1, -5}, 2), (Vector{-2147483647 - 1, 2147483647, 0}));
  }
}

TEST(opencl_vector_sum_five_objects, each_global_id_runs_once) {
  const std::string counting = R"(
    kernel void vector_sum(global const int* unused, global const int* neither, global int* visits, uint count) {
      const size_t i = get_global_id(0);
      if (i < count) atomic_inc(&visits[i]);
    })";
  for (const cl::Device& device : opencl::devices()) {
    FiveObjects five{device, counting};
    for (const std::size_t group : {1U, 10U, 25U, 64U, 100U}) {
      Vector visits(100, 0);
      sum_on_device(five, visits, visits, visits, work_items(100, group), group);
      EXPECT_EQ(visits, Vector(100, 1)) << group;
    }
  }
}

TEST(opencl_vector_sum_five_objects, several_sums_with_the_same_objects) {
  const auto devices = opencl::devices();
  if (devices.empty()) GTEST_SKIP() << "no OpenCL device";
  FiveObjects five{devices[0], source};
  for (const int factor : {3, 7, 11}) {
    const Vector a = numbers(1000, factor), b = numbers(1000, factor + 1);
    Vector expected(1000);
    for (std::size_t i = 0; i < 1000; ++i) expected[i] = a[i] + b[i];
    EXPECT_EQ(sums_of(five, a, b, 16), expected);
  }
}

TEST(opencl_vector_sum_work_items, are_whole_groups) {
  EXPECT_EQ(work_items(100, 7), 105U);
  EXPECT_EQ(work_items(100, 25), 100U);
  EXPECT_EQ(work_items(1, 64), 64U);
  EXPECT_EQ(work_items(64, 64), 64U);
  EXPECT_EQ(work_items(65, 64), 128U);
}

TEST(opencl_vector_sum, without_a_device_it_is_skipped_with_a_reason) {
  const auto result =
      run("opencl_vector_sum", {}, {.environment = {{"OCL_ICD_VENDORS", "/nonexistent"}, {"OCL_ICD_FILENAMES", ""}}});
  EXPECT_EQ(result.exit_code, opencl::skipped) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("opencl_vector_sum: skipped, no OpenCL device: "));
}

TEST(opencl_vector_sum, a_device_that_is_not_there_is_refused) {
  const auto result = run("opencl_vector_sum", {"--device", "63"});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 2) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::ContainsRegex("--device 63: there are [0-9]+, numbered from 0"));
}

TEST(opencl_vector_sum, a_refused_call_names_itself_the_error_and_the_line) {
  const auto result = run("opencl_vector_sum", {"--group", "1048576"});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 3) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::ContainsRegex("clEnqueueNDRangeKernel: CL_INVALID_WORK_(GROUP|ITEM)_SIZE "
                                                    "\\(opencl_vector_sum.cpp:[0-9]+\\)"));
}

TEST(opencl_vector_sum_build, shows_the_compilers_log_and_ends_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // PoCL has threads
  const auto devices = opencl::devices();
  if (devices.empty()) GTEST_SKIP() << "no OpenCL device";
  EXPECT_EXIT(opencl::build(cl::Context(devices[0]), "kernel void f(global int* x) { x[0] = no_such_name; }"),
              testing::ExitedWithCode(2), "the kernels do not compile for (.|\n)*no_such_name");
}

TEST(opencl_vector_sum_read_kernels, refuses_what_is_no_file_of_kernels) {
  for (const std::string path : {"/nonexistent.cl", "/tmp", "/dev/null"}) {
    EXPECT_EXIT(opencl::read_kernels(path), testing::ExitedWithCode(2), "cannot read kernels from " + path);
  }
}

TEST(opencl_vector_sum, is_clean_under_oclgrind) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "not in a sanitizer's build: Oclgrind has faults of its own, which end the program";
#endif
  const std::string oclgrind = "/usr/bin/oclgrind";
  if (access(oclgrind.c_str(), X_OK) != 0)
    GTEST_SKIP() << "no oclgrind; scripts/setup --with-test-dependencies installs it";
  for (const std::string group : {"25", "64"}) {
    const auto result = run(oclgrind, {"--data-races", "--uninitialized", "--check-api", bin() + "/opencl_vector_sum",
                                       "--count", "100", "--group", group});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_THAT(result.err, testing::IsEmpty());
  }
}

// Some devices run whole groups alone, so there may be more work-items than elements.
TEST(opencl_vector_sum_bench, work_items_without_elements_write_nothing) {
  const std::string kernels = opencl::read_kernels(
      opencl::beside(__FILE__, "../../chapters/08_heterogeneous/opencl_vector_sum/vector_sum_bench.cl"));
  constexpr std::size_t fours = 5, allocated = 4 * 16;
  Vector a(allocated), b(allocated, 1000);
  std::iota(a.begin(), a.end(), 1);
  for (const cl::Device& device : opencl::devices()) {
    const cl::Context context = CL_CHECK(cl::Context(device));
    const cl::CommandQueue queue = opencl::profiling_queue(context, device);
    const cl::Program program = opencl::build(context, kernels);
    const auto buffer_of = [&](Vector& numbers) {
      return CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, numbers.size() * sizeof numbers[0],
                                 numbers.data()));
    };
    for (const std::string name : {"copy_four", "vector_sum_four"}) {
      Vector result(allocated, -1), expected = result;
      for (std::size_t i = 0; i < 4 * fours; ++i) expected[i] = a[i] + (name == "copy_four" ? 0 : b[i]);
      const cl::Buffer device_a = buffer_of(a), device_b = buffer_of(b), device_result = buffer_of(result);
      cl::Kernel kernel = CL_CHECK(cl::Kernel(program, name.c_str()));
      CL_CHECK(kernel.setArg(0, device_a));
      CL_CHECK(kernel.setArg(1, device_b));
      CL_CHECK(kernel.setArg(2, device_result));
      CL_CHECK(kernel.setArg(3, static_cast<cl_uint>(fours)));
      CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(allocated / 4), cl::NullRange));
      CL_CHECK(queue.enqueueReadBuffer(device_result, CL_TRUE, 0, allocated * sizeof result[0], result.data()));
      EXPECT_EQ(result, expected) << name << " on " << opencl::name_of(device);
    }
  }
}

}  // namespace
