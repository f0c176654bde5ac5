// The shares, a worker from inside, and the program's output.

#include <dlfcn.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "08_heterogeneous/opencl_two_devices/two_devices.hpp"
#include "08_heterogeneous/opencl_two_devices/worker.hpp"

namespace {

/// A worker that notes what it is asked to do.
class NotedWorker : public Worker {
 public:
  using Worker::Worker;
  void start(std::size_t first, std::size_t count) {
    asked.push_back(fmt::format("start {} from {}", count, first));
    Worker::start(first, count);
  }
  void fetch(float* to) {
    asked.push_back("fetch");
    std::this_thread::sleep_for(pause);
    Worker::fetch(to);
  }
  std::chrono::milliseconds pause{0};            // before each fetch
  static inline std::vector<std::string> asked;  // all of them, in order
};

int flushes = 0, kernels = 0;  // of all queues

}  // namespace

/// Stands before that of the library.
extern "C" cl_int clFlush(cl_command_queue queue) {
  static const auto real = reinterpret_cast<decltype(&clFlush)>(dlsym(RTLD_NEXT, "clFlush"));
  ++flushes;
  return real(queue);
}

/// Likewise.
extern "C" cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                         const std::size_t* offset, const std::size_t* global, const std::size_t* group,
                                         cl_uint count, const cl_event* events, cl_event* event) {
  static const auto real =
      reinterpret_cast<decltype(&clEnqueueNDRangeKernel)>(dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel"));
  ++kernels;
  return real(queue, kernel, dimensions, offset, global, group, count, events, event);
}

// The program's functions are tested from inside, too.
#define main main_of_the_program
#define Worker NotedWorker
#include "08_heterogeneous/opencl_two_devices/opencl_two_devices.cpp"
#undef Worker
#undef main

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(opencl_two_devices, both_parts_are_started_before_one_is_fetched) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  constexpr std::size_t elements = 1'000, share = 300;
  NotedWorker first(*device, elements, 3), second(*device, elements, 3);
  std::vector<float> values(elements, -1);
  NotedWorker::asked.clear();
  run_both(first, second, share, values);
  EXPECT_THAT(NotedWorker::asked, testing::ElementsAre("start 300 from 0", "start 700 from 300", "fetch", "fetch"));
  for (std::size_t i = 0; i < elements; ++i) EXPECT_EQ(values[i], element_on_host(i, elements, 3)) << i;
}

TEST(opencl_two_devices, the_first_time_is_taken_when_the_first_part_is_there) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  constexpr std::size_t elements = 1'000;
  NotedWorker first(*device, elements, 3), second(*device, elements, 3);
  first.pause = std::chrono::milliseconds(100);
  second.pause = std::chrono::milliseconds(300);
  std::vector<float> values(elements);
  const Times times = run_both(first, second, elements / 2, values);
  EXPECT_GE(times.first, 0.1);
  EXPECT_GE(times.both - times.first, 0.3);
}

TEST(opencl_two_devices, a_device_whose_part_is_empty_is_asked_nothing) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  constexpr std::size_t elements = 1'000;
  NotedWorker first(*device, elements, 3), second(*device, elements, 3);
  for (const std::size_t share : {elements, std::size_t{0}}) {
    std::vector<float> values(elements, -1);
    kernels = 0;
    run_both(first, second, share, values);
    EXPECT_EQ(kernels, 1) << share;
    for (std::size_t i = 0; i < elements; ++i) EXPECT_EQ(values[i], element_on_host(i, elements, 3)) << i;
  }
}

TEST(opencl_two_devices_share_of_first, is_in_proportion_to_the_speeds) {
  EXPECT_EQ(share_of_first(1'000, 1, 1), 500U);
  EXPECT_EQ(share_of_first(1'000, 3, 1), 750U);
  EXPECT_EQ(share_of_first(1'000, 1, 3), 250U);
  EXPECT_EQ(share_of_first(10, 2, 1), 7U);  // 6.67, rounded
}

TEST(opencl_two_devices_share_of_first, leaves_at_least_one_element_for_each) {
  EXPECT_EQ(share_of_first(2, 1, 1), 1U);
  EXPECT_EQ(share_of_first(100, 1, 1e9), 1U);
  EXPECT_EQ(share_of_first(100, 1e9, 1), 99U);
}

TEST(opencl_two_devices_worker, computes_its_part_and_nothing_else) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  constexpr std::size_t elements = 1'000;
  Worker worker(*device, elements, 3);
  std::vector<float> values(elements, -1);
  worker.start(300, 200);
  worker.fetch(values.data() + 300);
  for (std::size_t i = 0; i < elements; ++i) {
    float x = (static_cast<float>(i) + 0.5F) * (1.0F / elements);
    for (int k = 0; k < 3; ++k) x = std::fma(-3.75F * x, x, 3.75F * x);
    EXPECT_EQ(values[i], 300 <= i && i < 500 ? x : -1) << i;
  }
}

TEST(opencl_two_devices_worker, a_slow_one_does_its_part_several_times) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  constexpr std::size_t elements = 100;
  Worker worker(*device, elements, 3, 4);
  std::vector<float> values(elements, -1);
  kernels = 0;
  worker.start(0, elements);
  EXPECT_EQ(kernels, 4);
  worker.fetch(values.data());
  for (std::size_t i = 0; i < elements; ++i) EXPECT_EQ(values[i], element_on_host(i, elements, 3)) << i;
}

TEST(opencl_two_devices_worker, hands_its_part_to_the_device_before_somebody_waits_for_it) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  Worker worker(*device, 1'000, 3);
  const int before = flushes;
  worker.start(0, 1'000);
  EXPECT_GT(flushes, before);
  std::vector<float> values(1'000);
  worker.fetch(values.data());
}

TEST(opencl_two_devices_worker, does_not_wait_for_its_device) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  const bool gpu = (CL_CHECK(device->getInfo<CL_DEVICE_TYPE>()) & CL_DEVICE_TYPE_GPU) != 0;
  std::vector<float> values(100'000, -1);
  Worker worker(*device, values.size(), gpu ? 10'000'000 : 5'000);  // a tenth of a second, more or less
  const cookbook::Stopwatch watch;
  worker.start(0, values.size());
  const double seconds_to_start = watch.seconds();
  worker.fetch(values.data());
  EXPECT_LT(seconds_to_start, watch.seconds() / 2);
  EXPECT_GE(values.back(), 0);
}

TEST(opencl_two_devices, the_shared_job_has_the_values_of_the_host) {
  for (const std::string elements : {"2", "3", "1000", "100001"}) {
    const auto result = run("opencl_two_devices", {"--elements", elements});
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.text();
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    elements that differ from the host's: 0")) << result.text();
    EXPECT_EQ(result.lines_with("^(first|second) device: .* M elements/s$").size(), 2U) << result.text();
    EXPECT_EQ(result.lines_with(" ms$").size(), 5U) << result.text();
    const std::string half = std::to_string(std::stoi(elements) / 2);
    EXPECT_EQ(result.lines_with("^first device alone +" + elements + " \\+ 0 ").size(), 1U) << result.text();
    EXPECT_EQ(result.lines_with("^second device alone +0 \\+ " + elements + " +- +[0-9.]+ ms$").size(), 1U)
        << result.text();
    EXPECT_EQ(result.lines_with("^both, halves +" + half + " \\+ ").size(), 1U) << result.text();
  }
}

TEST(opencl_two_devices, each_gets_its_share) {
  const auto result = run("opencl_two_devices", {"--elements", "200000"});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.text();
  const auto first = result.captures("by the trials +([0-9]+) \\+ "),
             second = result.captures("by the trials .* \\+ ([0-9]+) "),
             speed = result.captures(" ([0-9.]+) M elements/s");
  ASSERT_TRUE(first.size() == 1 && second.size() == 1 && speed.size() == 2) << result.text();
  EXPECT_EQ(std::stoi(first[0]) + std::stoi(second[0]), 200'000) << result.text();
  const double a = std::stod(speed[0]), b = std::stod(speed[1]);
  EXPECT_NEAR(std::stod(first[0]) / 200'000, a / (a + b), 0.02) << result.text();

  // The last row's share is in proportion to the speeds of the first two rows; their times have two decimals.
  const auto times = result.captures("^(?:first|second) device alone .* ([0-9.]+) ms$"),
             last = result.captures("by rows 1 and 2 +([0-9]+) \\+ ");
  ASSERT_TRUE(times.size() == 2 && last.size() == 1) << result.text();
  const double one = std::stod(times[0]), other = std::stod(times[1]);
  EXPECT_NEAR(std::stod(last[0]) / 200'000, other / (one + other), 0.02) << result.text();
}

TEST(opencl_two_devices, a_processor_is_divided_into_two_halves) {
  for (const cl::Device& device : opencl::devices()) {
    const auto units = CL_CHECK(device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>());
    if ((CL_CHECK(device.getInfo<CL_DEVICE_TYPE>()) & CL_DEVICE_TYPE_CPU) == 0 || units < 2) continue;
    const auto [first, second] = two_devices(device, device);
    const auto of_first = CL_CHECK(first.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>());
    EXPECT_EQ(of_first, units / 2);
    EXPECT_EQ(of_first + CL_CHECK(second.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>()), units);
  }
}

// Whether both are really at work at once: the time of the two parts together is below that of one after the other.
TEST(opencl_two_devices_timing, two_equal_devices_are_faster_than_one) {
  const auto device = opencl::devices().empty() ? std::nullopt : std::optional(opencl::devices().back());
  if (!device) GTEST_SKIP() << "no OpenCL device";
  const auto units = CL_CHECK(device->getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>());
  if ((CL_CHECK(device->getInfo<CL_DEVICE_TYPE>()) & CL_DEVICE_TYPE_CPU) == 0 || units < 2)
    GTEST_SKIP() << "no processor";
  const auto [a, b] = two_devices(*device, *device);
  constexpr std::size_t elements = 200'000;
  std::vector<float> values(elements);
  Worker first(a, elements, 500), second(b, elements, 500);
  first.speed(elements / 2);
  second.speed(elements / 2);
  const auto seconds = [&](bool in_turn) {
    double shortest = 1e9;
    for (int run = 0; run < 5; ++run) {
      const cookbook::Stopwatch watch;
      first.start(0, elements / 2);
      if (in_turn) first.fetch(values.data());
      second.start(elements / 2, elements / 2);
      if (!in_turn) first.fetch(values.data());
      second.fetch(values.data() + elements / 2);
      shortest = std::min(shortest, watch.seconds());
    }
    return shortest;
  };
  EXPECT_LT(seconds(false), 0.85 * seconds(true));
}

// The second part of a divided device is slow. So in halves the first one waits, and in proportion the job is faster.
TEST(opencl_two_devices_timing, in_halves_the_fast_device_waits_and_in_proportion_the_job_is_faster) {
  if (opencl::devices().size() != 1) GTEST_SKIP() << "more than one device, or none";
  // The shortest time of each row: another program that has one of the cores makes sharing slow.
  double alone = 1e9, waited_from = 1e9, fast = 0, slow = 0;
  std::vector<double> both(3, 1e9);
  for (int i = 0; i < 5; ++i) {
    const auto result = run("opencl_two_devices");
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.text();
    const auto of_first = result.captures("^both, .* ([0-9.]+) ms +[0-9.]+ ms$"),
               of_both = result.captures("^both, .* [0-9.]+ ms +([0-9.]+) ms$"),
               of_one = result.captures("^first device alone .* ([0-9.]+) ms$"),
               speed = result.captures(" ([0-9.]+) M elements/s");
    ASSERT_TRUE(of_first.size() == 3 && of_both.size() == 3 && of_one.size() == 1 && speed.size() == 2)
        << result.text();
    for (std::size_t row = 0; row < 3; ++row) both[row] = std::min(both[row], std::stod(of_both[row]));
    waited_from = std::min(waited_from, std::stod(of_first[0]));
    alone = std::min(alone, std::stod(of_one[0]));
    fast = std::max(fast, std::stod(speed[0]));
    slow = std::max(slow, std::stod(speed[1]));
  }
  EXPECT_LT(waited_from, 0.8 * both[0]);
  for (const std::size_t row : {1, 2}) {
    EXPECT_LT(both[row], 0.9 * both[0]);
    EXPECT_LT(both[row], alone);
  }
  EXPECT_GT(fast, 1.5 * slow);
}

TEST(opencl_two_devices, a_device_that_is_not_there_is_refused_by_its_option) {
  for (const std::string option : {"--first", "--second"}) {
    const auto result = run("opencl_two_devices", {option, "63"});
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 2) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::ContainsRegex(option + " 63: there are [0-9]+, numbered from 0"));
  }
}

TEST(opencl_two_devices, without_a_device_it_is_skipped_with_a_reason) {
  const auto result =
      run("opencl_two_devices", {}, {.environment = {{"OCL_ICD_VENDORS", "/nonexistent"}, {"OCL_ICD_FILENAMES", ""}}});
  EXPECT_EQ(result.exit_code, opencl::skipped) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("opencl_two_devices: skipped, no OpenCL device: "));
}

}  // namespace
