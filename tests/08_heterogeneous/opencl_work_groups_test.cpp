// The rule of ids against every device, and the program's output. Catalogue: 8.C13.

#include "08_heterogeneous/opencl_work_groups/work_groups.hpp"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

namespace {

/// A job that notes how it is started: how many work-items, how many of them per group, and with how many steps.
class NotedJob : public Job {
 public:
  using Job::Job;
  cl::Event start(std::size_t count, const cl::NDRange& group, cl_uint steps) {
    starts.emplace_back(count, group.dimensions() == 0 ? 0 : group.get()[0], steps);
    return Job::start(count, group, steps);
  }
  static inline std::vector<std::tuple<std::size_t, std::size_t, cl_uint>> starts;  // those of all jobs
};

}  // namespace

// The program's functions are tested from inside, too.
#define main main_of_the_program
#define Job NotedJob
#include "08_heterogeneous/opencl_work_groups/opencl_work_groups.cpp"
#undef Job
#undef main

#include "support/run.hpp"

namespace {

using test_support::bin;
using test_support::run;

const std::string source =
    opencl::read_kernels(opencl::beside(__FILE__, "../../chapters/08_heterogeneous/opencl_work_groups/work_groups.cl"));

TEST(opencl_work_groups_map_by_rule, numbers_groups_and_items_from_zero_without_gaps) {
  const GroupMap line = map_by_rule({6, 1, 1}, {2, 1, 1});
  EXPECT_EQ(line.group, (std::vector<cl_int>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(line.item, (std::vector<cl_int>{0, 1, 0, 1, 0, 1}));
  const GroupMap square = map_by_rule({4, 2, 1}, {2, 2, 1});
  EXPECT_EQ(square.group, (std::vector<cl_int>{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(square.item, (std::vector<cl_int>{0, 1, 0, 1, 2, 3, 2, 3}));
  const GroupMap box = map_by_rule({2, 2, 4}, {1, 2, 2});
  EXPECT_EQ(box.group, (std::vector<cl_int>{0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3}));
  EXPECT_EQ(box.item, (std::vector<cl_int>{0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(opencl_work_groups_map_on_device, follows_the_rule_in_one_two_and_three_dimensions) {
  for (const cl::Device& device : opencl::devices()) {
    const cl::Context context(device);
    cl::CommandQueue queue(context, device);
    const cl::Program program = opencl::build(context, source);
    for (const auto& [range, shape] : {std::pair<Shape, Shape>{{1, 1, 1}, {1, 1, 1}},
                                       {{100, 1, 1}, {25, 1, 1}},
                                       {{12, 6, 1}, {4, 3, 1}},
                                       {{12, 6, 1}, {1, 6, 1}},
                                       {{2, 30, 1}, {2, 5, 1}},
                                       {{3, 4, 10}, {3, 2, 5}},
                                       {{5, 1, 7}, {5, 1, 1}}}) {
      const GroupMap map = map_on_device(queue, program, range, shape);
      EXPECT_EQ(map.group, map_by_rule(range, shape).group) << range[0] << "x" << range[1] << "x" << range[2];
      EXPECT_EQ(map.item, map_by_rule(range, shape).item) << range[0] << "x" << range[1] << "x" << range[2];
    }
  }
}

TEST(opencl_work_groups_map_on_device, refuses_groups_that_do_not_divide_the_range_or_are_too_large) {
  for (const cl::Device& device : opencl::devices()) {
    const cl::Context context(device);
    cl::CommandQueue queue(context, device);
    const cl::Program program = opencl::build(context, source);
    EXPECT_THROW(map_on_device(queue, program, {12, 6, 1}, {5, 3, 1}), cl::Error);
    EXPECT_THROW(map_on_device(queue, program, {12, 6, 1}, {4, 4, 1}), cl::Error);
    EXPECT_THROW(map_on_device(queue, program, {1 << 14, 4, 1}, {1 << 14, 4, 1}), cl::Error);
  }
}

TEST(opencl_work_groups, prints_a_picture_of_the_groups) {
  const auto result = run("opencl_work_groups", {"--group-columns", "4"});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^ 0  0  0  0  1  1  1  1  2  2  2  2$").size(), 3U) << result.text();
  EXPECT_EQ(result.lines_with("^ 3  3  3  3  4  4  4  4  5  5  5  5$").size(), 3U) << result.text();
}

// Each start of a program takes seconds where many wait for a GPU, so the starts are divided among several tests.
void expect_groups_of_any_length(const std::string& rows) {
  for (const std::string columns : {"1", "2", "6", "12"}) {
    const auto result = run("opencl_work_groups", {"--group-columns", columns, "--group-rows", rows});
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    groups and places in the picture follow the rule: yes")) << result.text();
    std::set<std::string> groups;
    for (const std::string& line : result.lines_with("^( ?[0-9]+ *){12}$")) {
      std::istringstream numbers(line);
      for (std::string number; numbers >> number;) groups.insert(number);
    }
    EXPECT_EQ(groups.size(), 72U / std::stoul(columns) / std::stoul(rows)) << result.text();
  }
}

TEST(opencl_work_groups, groups_may_have_any_length_that_divides_the_range_and_1_row) {
  expect_groups_of_any_length("1");
}
TEST(opencl_work_groups, groups_may_have_any_length_that_divides_the_range_and_2_rows) {
  expect_groups_of_any_length("2");
}
TEST(opencl_work_groups, groups_may_have_any_length_that_divides_the_range_and_6_rows) {
  expect_groups_of_any_length("6");
}

TEST(opencl_work_groups, other_shapes_are_refused) {
  for (const auto& [columns, rows] : {std::pair("5", "3"), std::pair("4", "4"), std::pair("1048576", "1")}) {
    const auto result = run("opencl_work_groups", {"--group-columns", columns, "--group-rows", rows});
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 3) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::ContainsRegex("clEnqueueNDRangeKernel: CL_INVALID_WORK_(GROUP|ITEM)_SIZE "
                                                      "\\(opencl_work_groups.cpp:[0-9]+\\)"));
  }
}

// The host's loop, step by step; the recipe's own check takes all steps of the even job at once.
cl_uint by_steps(cl_uint number, cl_uint steps) {
  while (steps-- > 0) number = number * 1664525U + 1013904223U;
  return number;
}

TEST(opencl_work_groups_job, every_work_item_makes_its_steps_and_the_check_sees_one_that_does_not) {
  for (const cl::Device& device : opencl::devices()) {
    const cl::Context context(device);
    const cl::CommandQueue queue = opencl::profiling_queue(context, device);
    const cl::Program program = opencl::build(context, source);
    constexpr cl_uint count = 100, steps = 7;
    for (const std::string name : {"even", "uneven"}) {
      Job job(queue, program, name, count);
      job.start(count, cl::NDRange(10), steps);
      EXPECT_TRUE(job.result_is_right(count, steps)) << name;
      EXPECT_FALSE(job.result_is_right(count, steps + 1)) << name;

      cl::Kernel kernel(program, name.c_str());
      std::vector<cl_uint> numbers(count, 0), expected(count);
      for (cl_uint i = 0; i < count; ++i) expected[i] = by_steps(i, name == "even" ? steps : i * steps);
      const cl::Buffer result(context, CL_MEM_READ_WRITE, count * sizeof(cl_uint));
      kernel.setArg(0, result);
      kernel.setArg(1, steps);
      queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(count), cl::NDRange(10));
      queue.enqueueReadBuffer(result, CL_TRUE, 0, count * sizeof(cl_uint), numbers.data());
      EXPECT_EQ(numbers, expected) << name;
    }
  }
}

// The kernel makes as many steps as its group has work-items, so the result is right only in groups of that size.
TEST(opencl_work_groups_job, is_started_in_groups_of_the_size_that_is_asked_for) {
  const std::string counts_its_group = R"(
    kernel void even(global uint* result, uint steps) {
      uint number = get_global_id(0);
      for (size_t k = 0; k < get_local_size(0); ++k) number = number * 1664525u + 1013904223u;
      result[get_global_id(0)] = number;
    })";
  for (const cl::Device& device : opencl::devices()) {
    const cl::Context context(device);
    Job job(opencl::profiling_queue(context, device), opencl::build(context, counts_its_group), "even", 60);
    for (const cl_uint size : {1, 5, 20}) {
      job.start(60, cl::NDRange(size), size);
      EXPECT_TRUE(job.result_is_right(60, size)) << size;
    }
  }
}

TEST(opencl_work_groups_job, what_an_earlier_start_has_written_does_not_count) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  const cl::Context context(*device);
  const cl::CommandQueue queue = opencl::profiling_queue(context, *device);
  Job job(queue, opencl::build(context, source), "even", 64);
  job.start(64, cl::NDRange(8), 3);
  EXPECT_TRUE(job.result_is_right(64, 3));
  job.start(32, cl::NDRange(8), 3);
  EXPECT_TRUE(job.result_is_right(32, 3));
  EXPECT_FALSE(job.result_is_right(64, 3));  // the second start has no results for the other 32
}

TEST(opencl_work_groups, shows_the_time_of_every_size_and_of_every_number_of_groups) {
  const auto result = run("opencl_work_groups");
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();
  // Groups times work-items is the whole range in each row: nothing is left out.
  const auto even = result.lines_with("^ *[0-9]+ x +[0-9]+ work-items +[0-9.]+ ms +[0-9.]+ ms$");
  const auto uneven =
      result.lines_with("^ *[0-9]+ x +[0-9]+ work-items +[0-9.]+ ms +one unit makes at least +[0-9]+ % of the steps$");
  ASSERT_EQ(even.size(), 3U) << result.text();
  ASSERT_EQ(uneven.size(), 3U) << result.text();
  for (const std::string row : {"the driver's choice", "its choice for 1048573"}) {
    EXPECT_EQ(result.lines_with("^ *" + row + " +[0-9.]+ ms +[0-9.]+ ms$").size(), 1U) << result.text();
  }
  for (const auto& [lines, count] : {std::pair(even, 1UL << 20), std::pair(uneven, 256UL)}) {
    for (const std::string& line : lines) {
      std::istringstream text(line);
      std::size_t groups = 0, items = 0;
      std::string times;
      text >> groups >> times >> items;
      EXPECT_EQ(groups * items, count) << line;
    }
  }
}

TEST(opencl_work_groups, the_groups_that_are_timed_are_those_of_the_rows) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  std::string name = "opencl_work_groups", option = "--items", items = "4096";
  char* arguments[] = {name.data(), option.data(), items.data(), nullptr};
  NotedJob::starts.clear();
  EXPECT_EQ(main_of_the_program(3, arguments), 0);
  std::set<std::tuple<std::size_t, std::size_t, cl_uint>> expected;
  for (const cl_uint steps : {1, 64}) {
    for (const std::size_t size : {1, 16, 256}) expected.emplace(4'096, size, steps);
    for (const std::size_t count : {4'096, 4'093}) expected.emplace(count, 0, steps);  // 0: the driver's choice
  }
  for (const std::size_t groups : {1, 2, 256}) expected.emplace(256, 256 / groups, 20);
  EXPECT_EQ(std::set(NotedJob::starts.begin(), NotedJob::starts.end()), expected);
}

TEST(opencl_work_groups_timing, many_small_groups_cost_more_than_few_large_ones) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  const cl::Context context(*device);
  const cl::CommandQueue queue = opencl::profiling_queue(context, *device);
  Job even(queue, opencl::build(context, source), "even", 1 << 20);
  double small = 1e9, large = 1e9;
  for (int run = 0; run < 10; ++run) {
    small = std::min(small, opencl::seconds_of(even.start(1 << 20, cl::NDRange(1), 1)));
    large = std::min(large, opencl::seconds_of(even.start(1 << 20, cl::NDRange(256), 1)));
  }
  EXPECT_GT(small, 2 * large);
}

// Small groups cost time only where they have little to do (on a processor), and so does a prime number of work-items.
TEST(opencl_work_groups_timing, on_a_processor_the_price_of_small_groups_is_small_beside_much_work) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  if ((CL_CHECK(device->getInfo<CL_DEVICE_TYPE>()) & CL_DEVICE_TYPE_CPU) == 0) GTEST_SKIP() << "no processor";
  std::vector<double> shortest(6, 1e9);
  for (int i = 0; i < 3; ++i) {
    const auto result = run("opencl_work_groups");
    std::size_t cell = 0;
    for (const std::string row : {"1048576 x   1 work-items", "the driver's choice", "its choice for 1048573"}) {
      const auto first = result.captures(row + " +([0-9.]+) ms +[0-9.]+ ms$"),
                 second = result.captures(row + " +[0-9.]+ ms +([0-9.]+) ms$");
      ASSERT_TRUE(first.size() == 1 && second.size() == 1) << result.text();
      for (const auto& time : {first[0], second[0]}) {
        shortest[cell] = std::min(shortest[cell], std::stod(time));
        ++cell;
      }
    }
  }
  EXPECT_GT(shortest[0], 2 * shortest[2]);    // one step, groups of one beside the driver's choice
  EXPECT_GT(shortest[4], 1.5 * shortest[2]);  // one step, a prime number of work-items
  EXPECT_LT(shortest[1], 1.5 * shortest[3]);  // 64 steps
  EXPECT_GT(shortest[3], 4 * shortest[2]);    // 64 steps are more than one
}

// By going through all steps: those of the last group, which has the most, or an equal part for each unit.
TEST(opencl_work_groups_part_of_one_unit, is_that_of_the_last_group_or_an_equal_part) {
  for (const std::size_t units : {1, 2, 3, 16, 132}) {
    for (const std::size_t groups : {1, 2, 16, 64}) {
      std::size_t all = 0, last = 0;
      for (std::size_t i = 0; i < 64; ++i) {
        all += i;
        if (i / (64 / groups) == groups - 1) last += i;
      }
      const double part = part_of_one_unit(64, groups, units);
      EXPECT_DOUBLE_EQ(part, std::max(1.0 * last / all, 1.0 / units)) << groups << ' ' << units;
    }
  }
}

// The work-items of a group stay on one core, so the part that the program prints is one of the time of one group.
TEST(opencl_work_groups_timing, on_a_processor_two_groups_take_three_quarters_of_the_time_of_one) {
  const std::vector<cl::Device> devices = opencl::devices();
  const auto processor = std::find_if(devices.begin(), devices.end(), [](const cl::Device& device) {
    return (CL_CHECK(device.getInfo<CL_DEVICE_TYPE>()) & CL_DEVICE_TYPE_CPU) != 0 &&
           CL_CHECK(device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>()) > 1;
  });
  if (processor == devices.end()) GTEST_SKIP() << "no OpenCL device that is a processor with several cores";
  double one = 1e9, two = 1e9;  // the shortest of several runs
  for (int i = 0; i < 5; ++i) {
    const auto result = run("opencl_work_groups", {"--device", std::to_string(processor - devices.begin())});
    const auto of_one =
                   result.captures("^ *1 x 256 work-items +([0-9.]+) ms +one unit makes at least 100 % of the steps$"),
               of_two =
                   result.captures("^ *2 x 128 work-items +([0-9.]+) ms +one unit makes at least +75 % of the steps$");
    ASSERT_TRUE(of_one.size() == 1 && of_two.size() == 1) << result.text();
    one = std::min(one, std::stod(of_one[0]));
    two = std::min(two, std::stod(of_two[0]));
  }
  EXPECT_GT(two, 0.6 * one);
  EXPECT_LT(two, 0.9 * one);
}

TEST(opencl_work_groups, is_clean_under_oclgrind) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "not in a sanitizer's build: Oclgrind has faults of its own, which end the program";
#endif
  const std::string oclgrind = "/usr/bin/oclgrind";
  if (access(oclgrind.c_str(), X_OK) != 0)
    GTEST_SKIP() << "no oclgrind; scripts/setup --with-test-dependencies installs it";
  const std::string columns = "--group-columns", items = "--items";
  for (const auto& [option, value] : {std::pair(items, "256"), std::pair(columns, "4")}) {
    const auto result =
        run(oclgrind, {"--data-races", "--uninitialized", "--check-api", bin() + "/opencl_work_groups", option, value},
            {.environment = {{"COOKBOOK_ROUNDS", "1"}}, .limit = std::chrono::seconds(200)});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("^Oclgrind").size(), 1U) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

}  // namespace
