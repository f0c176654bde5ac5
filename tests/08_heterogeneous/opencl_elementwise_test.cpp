// The text of a kernel, its arguments and the choice of a device, from inside; the program's output. Catalogue: 6.14,
// 8.7.

#include "08_heterogeneous/opencl_elementwise/elementwise.hpp"

#include <unistd.h>

#include "support/run.hpp"

namespace {

using test_support::bin;
using test_support::run;
using Vector = std::vector<cl_int>;

// What the book's two editions printed.
const Vector first_a = {70, 95, 47, 53, 71, 52, 15, 10, 95, 5,  76, 40, 55, 87, 7,  18, 44, 72, 2,  42,
                        47, 86, 58, 87, 64, 79, 44, 94, 5,  54, 92, 21, 60, 67, 43, 92, 38, 49, 97, 14,
                        17, 35, 87, 94, 3,  17, 87, 24, 50, 43, 39, 71, 84, 7,  64, 60, 29, 74, 65, 82,
                        42, 35, 96, 80, 94, 57, 21, 56, 94, 8,  3,  94, 30, 64, 44, 34, 79, 5,  88, 80,
                        98, 88, 5,  2,  77, 57, 7,  93, 49, 42, 56, 19, 81, 36, 19, 24, 27, 18, 1,  40};
const Vector first_b = {82, 32, 72, 9,  29, 29, 92, 2,  20, 44, 31, 91, 63, 97, 86, 37, 39, 41, 19, 78,
                        60, 30, 21, 69, 29, 38, 56, 49, 97, 18, 44, 84, 27, 73, 73, 14, 67, 43, 17, 58,
                        81, 52, 89, 84, 80, 96, 58, 80, 20, 91, 20, 61, 92, 46, 34, 98, 21, 82, 52, 34,
                        81, 45, 35, 28, 23, 59, 21, 89, 47, 75, 49, 43, 92, 91, 84, 59, 35, 61, 42, 12,
                        69, 15, 98, 85, 12, 36, 64, 89, 76, 29, 8,  81, 62, 5,  58, 13, 46, 82, 12, 66};
const Vector first_c = {152, 127, 119, 62,  100, 81,  107, 12,  115, 49,  107, 131, 118, 184, 93,  55,  83,
                        113, 21,  120, 107, 116, 79,  156, 93,  117, 100, 143, 102, 72,  136, 105, 87,  140,
                        116, 106, 105, 92,  114, 72,  98,  87,  176, 178, 83,  113, 145, 104, 70,  134, 59,
                        132, 176, 53,  98,  158, 50,  156, 117, 116, 123, 80,  131, 108, 117, 116, 42,  145,
                        141, 83,  52,  137, 122, 155, 128, 93,  114, 66,  130, 92,  167, 103, 103, 87,  89,
                        93,  71,  182, 125, 71,  64,  100, 143, 41,  77,  37,  73,  100, 13,  106};
const Vector second_a = {24, 64, 73, 37, 40, 4,  41, 85, 19, 90, 32, 51, 6,  89, 98, 56, 97, 53, 34, 91,
                         82, 89, 97, 2,  54, 65, 90, 90, 91, 75, 30, 8,  62, 94, 63, 69, 31, 99, 8,  18,
                         28, 7,  81, 72, 14, 53, 91, 80, 76, 39, 8,  47, 25, 45, 26, 56, 23, 47, 41, 18,
                         89, 17, 82, 84, 10, 75, 56, 89, 71, 56, 66, 61, 58, 54, 27, 88, 16, 20, 9,  61,
                         68, 63, 74, 84, 18, 82, 67, 30, 15, 25, 25, 3,  93, 36, 24, 27, 70, 5,  78, 15};
const Vector second_b = {49, 18, 69, 43, 51, 72, 37, 50, 79, 34, 97, 49, 51, 29, 89, 81, 33, 7,  47, 93,
                         70, 52, 63, 90, 99, 95, 58, 33, 41, 70, 84, 87, 20, 83, 74, 43, 78, 34, 94, 47,
                         89, 4,  30, 36, 34, 56, 32, 31, 56, 22, 50, 52, 68, 98, 52, 80, 14, 98, 43, 60,
                         20, 49, 15, 38, 74, 89, 99, 29, 96, 65, 89, 41, 72, 53, 89, 31, 34, 64, 0,  47,
                         87, 70, 98, 86, 41, 25, 34, 10, 44, 36, 54, 52, 54, 86, 33, 38, 25, 49, 75, 53};
const Vector second_c = {73,  82,  142, 80,  91,  76,  78,  135, 98,  124, 129, 100, 57,  118, 187, 137, 130,
                         60,  81,  184, 152, 141, 160, 92,  153, 160, 148, 123, 132, 145, 114, 95,  82,  177,
                         137, 112, 109, 133, 102, 65,  117, 11,  111, 108, 48,  109, 123, 111, 132, 61,  58,
                         99,  93,  143, 78,  136, 37,  145, 84,  78,  109, 66,  97,  122, 84,  164, 155, 118,
                         167, 121, 155, 102, 130, 107, 116, 119, 50,  84,  9,   108, 155, 133, 172, 170, 59,
                         107, 101, 40,  59,  61,  79,  55,  147, 122, 57,  65,  95,  54,  153, 68};

const std::string parameters = "global const int* a, global const int* b, global int* c";

/// A queue of each device.
std::vector<cl::CommandQueue> queues() {
  std::vector<cl::CommandQueue> result;
  for (const cl::Device& device : opencl::devices()) result.emplace_back(cl::Context(device), device);
  return result;
}

/// c after `operation`, for vectors a and b. It begins with -1 everywhere.
Vector result_of(const cl::CommandQueue& queue, const std::string& operation, const Vector& a, const Vector& b) {
  const DeviceVector<cl_int> device_a(queue, a), device_b(queue, b), c(queue, Vector(a.size(), -1));
  Elementwise(queue, "f", parameters, operation)(device_a, device_b, c);
  return c.to_host();
}

TEST(opencl_elementwise_elementwise, gives_the_sums_that_the_book_printed_on_every_device) {
  for (const cl::CommandQueue& queue : queues()) {
    EXPECT_EQ(result_of(queue, "c[i] = a[i] + b[i]", first_a, first_b), first_c);
    EXPECT_EQ(result_of(queue, "c[i] = a[i] + b[i]", second_a, second_b), second_c);
  }
}

TEST(opencl_elementwise_elementwise, computes_other_expressions) {
  for (const cl::CommandQueue& queue : queues()) {
    const Vector twice = result_of(queue, "c[i] = 2 * a[i] - b[i]", first_a, first_b);
    const Vector indices = result_of(queue, "c[i] = i", first_a, first_b);
    const Vector lines = result_of(queue, "int t = a[i];\nc[i] = t > 50 ? t : b[i]", first_a, first_b);
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(twice[i], 2 * first_a[i] - first_b[i]);
      EXPECT_EQ(indices[i], i);
      EXPECT_EQ(lines[i], first_a[i] > 50 ? first_a[i] : first_b[i]);
    }
  }
}

TEST(opencl_elementwise_elementwise, takes_numbers_of_several_types) {
  for (const cl::CommandQueue& queue : queues()) {
    const std::vector<float> x = {1, 2, 3};
    const DeviceVector<float> device_x(queue, x), y(queue, {0, 0, 0});
    Elementwise axpy(queue, "axpy", "float a, global const float* x, uchar n, ulong m, global float* y",
                     "y[i] = a * x[i] + n + m");
    axpy(0.5F, device_x, cl_uchar{2}, cl_ulong{10}, y);
    EXPECT_EQ(y.to_host(), (std::vector<float>{12.5F, 13, 13.5F}));
    axpy(2.0F, device_x, cl_uchar{0}, cl_ulong{0}, y);  // the same kernel again
    EXPECT_EQ(y.to_host(), (std::vector<float>{2, 4, 6}));
  }
}

TEST(opencl_elementwise_elementwise, works_on_every_length) {
  for (const cl::CommandQueue& queue : queues()) {
    for (const std::size_t count : {1U, 2U, 63U, 64U, 65U, 1000U, 100'003U}) {
      EXPECT_EQ(result_of(queue, "c[i] = a[i] + b[i]", Vector(count, 2), Vector(count, 3)), Vector(count, 5)) << count;
    }
  }
}

TEST(opencl_elementwise_elementwise, has_a_guard_against_more_work_items_than_elements) {
  EXPECT_THAT(Elementwise::text("f", parameters, "c[i] = 1"), testing::HasSubstr("if (i < count) {"));
}

TEST(opencl_elementwise_elementwise, refuses_vectors_of_different_lengths_wherever_they_stand) {
  const auto all = queues();
  if (all.empty()) GTEST_SKIP() << "no OpenCL device";
  const DeviceVector<cl_int> long_one(all[0], Vector(100, 7)), short_one(all[0], Vector(99, 7));
  Elementwise sum(all[0], "sum", parameters, "c[i] = a[i] + b[i]");
  EXPECT_THROW(sum(short_one, long_one, long_one), std::invalid_argument);
  EXPECT_THROW(sum(long_one, short_one, long_one), std::invalid_argument);
  EXPECT_THROW(sum(long_one, long_one, short_one), std::invalid_argument);
  EXPECT_EQ(long_one.to_host(), Vector(100, 7)) << "the kernel was started";
}

TEST(opencl_elementwise_elementwise, refuses_a_number_of_another_size) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // PoCL has threads
  const auto all = queues();
  if (all.empty()) GTEST_SKIP() << "no OpenCL device";
  const DeviceVector<float> x(all[0], {1});
  Elementwise scale(all[0], "scale", "float factor, global float* x", "x[i] = factor * x[i]");
  EXPECT_EXIT(scale(2.0, x), testing::ExitedWithCode(3), "clSetKernelArg: CL_INVALID_ARG_SIZE");
}

TEST(opencl_elementwise_elementwise, a_mistake_is_found_in_the_line_of_the_operation) {
  for (const auto& [operation, place] : {std::pair("c[i] = z", "operation:1:8"), std::pair("c[i] =", "operation:1:"),
                                         std::pair("int t = 1;\nc[i] = t + z", "operation:2:12")}) {
    const auto result = run("opencl_elementwise", {"--operation", operation, "--count", "1000"});
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 2) << result.text();
    EXPECT_THAT(result.err, testing::Contains(testing::HasSubstr("the kernels do not compile for "))) << operation;
    // NVIDIA's compiler ignores #line, and counts the lines of the whole text.
    EXPECT_THAT(result.err,
                testing::Contains(testing::AnyOf(testing::HasSubstr(place), testing::HasSubstr("<kernel>:5:"),
                                                 testing::HasSubstr("<kernel>:6:"))))
        << operation;
    EXPECT_THAT(result.out, testing::Not(testing::Contains(testing::StartsWith("ok ")))) << operation;
  }
}

TEST(opencl_elementwise_elementwise, the_input_cannot_be_changed) {
  const auto result = run("opencl_elementwise", {"--operation", "a[i] = 0", "--count", "1000"});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 2) << result.text();
}

TEST(opencl_elementwise, asks_only_if_it_is_told_to) {
  const auto silent = run("opencl_elementwise", {"--count", "1000"});
  if (silent.exit_code == opencl::skipped) GTEST_SKIP() << silent.err[0];
  EXPECT_EQ(silent.exit_code, 0) << silent.text();
  EXPECT_FALSE(silent.has_line("Choice [0]:"));

  const auto asked = run("opencl_elementwise", {"--ask", "--count", "1000"});  // standard input is empty: the default
  EXPECT_EQ(asked.exit_code, 0) << asked.text();
  EXPECT_TRUE(asked.has_line("Choice [0]:"));
  EXPECT_EQ(asked.lines_with("^\\[[0-9]+\\] ").size(), opencl::devices().size());

  const auto preset =
      run("opencl_elementwise", {"--ask", "--count", "1000"}, {.environment = {{"OPENCL_DEVICE", "0"}}});
  EXPECT_EQ(preset.exit_code, 0) << preset.text();
  EXPECT_FALSE(preset.has_line("Choice [0]:"));
}

TEST(opencl_elementwise, takes_the_number_of_a_device_for_an_answer_and_nothing_else) {
  const auto devices = opencl::devices();
  if (devices.empty()) GTEST_SKIP() << "no OpenCL device";
  const auto answer = [](const std::string& text) {
    return run("/bin/sh", {"-c", "echo '" + text + "' | " + bin() + "/opencl_elementwise --ask --count 1000"});
  };
  for (std::size_t number = 0; number < devices.size(); ++number) {
    const auto result = answer(std::to_string(number));
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("compiled in .* ms for ").size(), 1U) << result.text();
    EXPECT_THAT(result.text(), testing::HasSubstr(" ms for " + opencl::name_of(devices[number])));
  }
  EXPECT_EQ(answer("").exit_code, 0) << "an empty answer is the default";
  for (const std::string& wrong : std::vector<std::string>{"63", std::to_string(devices.size()), "-1", "0x", "first",
                                                           "0,0", "0 ", "99999999999999999999999"}) {
    const auto result = answer(wrong);
    EXPECT_EQ(result.exit_code, 2) << result.text();
    EXPECT_THAT(result.err, testing::ElementsAre(testing::HasSubstr("no device '" + wrong + "': there are ")));
    EXPECT_EQ(
        run("opencl_elementwise", {"--ask", "--count", "1000"}, {.environment = {{"OPENCL_DEVICE", wrong}}}).exit_code,
        2)
        << wrong;
  }
}

TEST(opencl_elementwise, shows_the_kernel_that_it_makes) {
  const auto result = run("opencl_elementwise", {"--operation", "c[i] = a[i] - b[i]", "--count", "1000"});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("c[i] = a[i] - b[i];")) << result.text();
  const auto a = result.captures("^a\\[0\\] = (\\d+),"), b = result.captures(" b\\[0\\] = (\\d+),"),
             c = result.captures(" c\\[0\\] = (-?\\d+)$");
  ASSERT_TRUE(a.size() == 1 && b.size() == 1 && c.size() == 1) << result.text();
  EXPECT_EQ(std::stoi(c[0]), std::stoi(a[0]) - std::stoi(b[0]));
}

TEST(opencl_elementwise, compares_and_checks_only_what_the_three_kernels_compute) {
  const auto whole = run("opencl_elementwise", {"--count", "1001"});
  if (whole.exit_code == opencl::skipped) GTEST_SKIP() << whole.err[0];
  EXPECT_EQ(whole.exit_code, 0) << whole.text();
  EXPECT_TRUE(whole.has_line("a[0] = 45, b[0] = 48, c[0] = 234")) << whole.text();
  EXPECT_EQ(whole.lines_with("^1001 elements by .* [0-9.]+ ms$").size(), 2U) << whole.text();
  EXPECT_TRUE(whole.has_line("ok    elements that are not 2a + 3b: 0")) << whole.text();

  // c[i] gets more with each run, and the value that is printed is that of the first.
  const auto other = run("opencl_elementwise", {"--count", "1001", "--operation", "c[i] += a[i]"});
  EXPECT_EQ(other.exit_code, 0) << other.text();
  EXPECT_TRUE(other.has_line("a[0] = 45, b[0] = 48, c[0] = 44")) << other.text();
  EXPECT_EQ(other.lines_with("^1001 elements by this kernel +[0-9.]+ ms$").size(), 1U) << other.text();
  EXPECT_TRUE(other.lines_with("three|2a|^ok ").empty()) << other.text();
}

// Seven vectors move by three kernels, and three by one. The sum alone moves as many as the one kernel, and each of the
// others at least half: with one of them left out the factor would be below 1.8.
TEST(opencl_elementwise_timing, one_kernel_is_faster_than_three) {
  const auto result = run("opencl_elementwise");
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  const auto three = result.captures("by kernels for 2a, 3b and the sum +([0-9.]+) ms$"),
             one = result.captures("by this kernel +([0-9.]+) ms$");
  ASSERT_TRUE(three.size() == 1 && one.size() == 1) << result.text();
  EXPECT_GT(std::stod(three[0]), 1.8 * std::stod(one[0])) << result.text();
}

TEST(opencl_elementwise, the_time_of_several_kernels_is_from_the_first_to_the_last) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  const cl::CommandQueue queue = opencl::profiling_queue(cl::Context(*device), *device);
  const DeviceVector<cl_int> a(queue, Vector(100'000, 1)), b(queue, Vector(100'000, 2)), c(queue, Vector(100'000, -1));
  Elementwise sum(queue, "sum", parameters, "c[i] = a[i] + b[i]");
  const cl::Event first = sum(a, b, c);
  sum(a, b, c);
  const cl::Event third = sum(a, b, c);
  EXPECT_GT(opencl::seconds_of(std::pair(first, third)), opencl::seconds_of(first) + opencl::seconds_of(third));
}

TEST(opencl_elementwise, is_clean_under_oclgrind) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "not in a sanitizer's build: Oclgrind has faults of its own, which end the program";
#endif
  const std::string oclgrind = "/usr/bin/oclgrind";
  if (access(oclgrind.c_str(), X_OK) != 0)
    GTEST_SKIP() << "no oclgrind; scripts/setup --with-test-dependencies installs it";
  const auto result = run(
      oclgrind, {"--data-races", "--uninitialized", "--check-api", bin() + "/opencl_elementwise", "--count", "1000"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("for Oclgrind").size(), 1U) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

}  // namespace
