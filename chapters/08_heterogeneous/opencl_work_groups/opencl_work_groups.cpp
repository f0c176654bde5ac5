// Work-groups
//
// How large should a work-group be? A million work-items with little to do, and with 64 times as much, are run in
// groups of 1 to 256, and of a size that the driver chooses: the device has to start each group, so many small groups
// take long unless they have much to do. Then 256 work-items with more and more work are run as 1, 2 and 256 groups: a
// group stays on one compute unit, so with few groups others have nothing to do. The times change; the results do not.
// With --group-columns the program draws which work-item is in which group instead.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_work_groups/opencl_work_groups.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_work_groups
// Run:     opencl_work_groups [--group-columns N] [--group-rows N] [--items N] [--device N]

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "work_groups.hpp"

namespace {

int wrong = 0;  // runs with another result than the host's

/// Runs a job of `count` work-items in groups of a size, several times. Returns the shortest time in milliseconds.
double shortest_time(Job& job, std::size_t count, const cl::NDRange& group, cl_uint steps, int runs) {
  const auto row = opencl::timed_row("", 1, [&] { return job.start(count, group, steps); });
  const double seconds = cookbook::run_interleaved({row}, runs)[0].minimum;
  wrong += !job.result_is_right(count, steps);
  return seconds * 1e3;
}

/// Of all steps of the uneven job in so many groups: the part that at least one of the compute units has to make. It
/// has a whole group, also the one with the most steps, the last; and one unit has its equal share of all or more.
double part_of_one_unit(std::size_t items, std::size_t groups, std::size_t units) {
  const auto sum_below = [](std::size_t n) { return static_cast<double>(n * (n - 1) / 2); };  // 0 + 1 + ... + n - 1
  const double last_group = 1 - sum_below(items - items / groups) / sum_below(items);
  return std::max(last_group, 1 / static_cast<double>(units));
}

/// Draws which of 12 x 6 work-items is in which group.
int draw_groups(cl::CommandQueue& queue, const cl::Program& program, const Shape& shape) {
  constexpr Shape range = {12, 6, 1};
  const GroupMap map = CL_CHECK(map_on_device(queue, program, range, shape));
  for (auto row = map.group.begin(); row != map.group.end(); row += range[0]) {
    cookbook::println("{:2}", fmt::join(row, row + range[0], " "));
  }
  cookbook::Checks checks;
  checks.that("groups and places in the picture follow the rule", map == map_by_rule(range, shape));
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  Shape shape = {0, 3, 1};
  std::size_t device_number = 0, many = 1 << 20;
  constexpr std::size_t few = 256;
  cookbook::Options options("Cut a range of work-items into work-groups");
  options.add("group-columns", shape[0], "draw groups of so many columns, a divisor of 12; 0 is no picture", 0,
              1 << 20);
  options.add("group-rows", shape[1], "rows of a group in the picture; a divisor of 6", 1, 1 << 20);
  options.add("items", many, "work-items of the even job, rounded down to a multiple of 256", few, 1 << 26);
  options.add("device", device_number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  many = many / few * few;
  const std::optional<cl::Device> device = opencl::chosen_device(device_number);
  if (!device) return opencl::without_device();

  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = opencl::profiling_queue(context, *device);
  const cl::Program program = opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "work_groups.cl")));
  cookbook::println("{}", opencl::name_of(*device));
  if (shape[0] > 0) return draw_groups(queue, program, shape);

  Job even(queue, program, "even", many), uneven(queue, program, "uneven", few);
  cookbook::println("many groups: {} work-items, each makes", many);
  cookbook::println("{:<24}{:>15}{:>15}", "", "1 step", "64 steps");
  const auto print_time = [&](const std::string& groups, std::size_t count, const cl::NDRange& group) {
    const double one_step = shortest_time(even, count, group, 1, 10),
                 more_steps = shortest_time(even, count, group, 64, 3);
    cookbook::println("{:<24}   {:9.3f} ms   {:9.3f} ms", groups, one_step, more_steps);
  };
  for (const std::size_t size : {1, 16, 256}) {
    if (size > even.largest_group()) break;
    print_time(fmt::format("{:7} x {:3} work-items", many / size, size), many, cl::NDRange(size));
  }
  // The driver needs a size that divides the number of work-items. 1048573, three less than a million here, is prime.
  print_time("     the driver's choice", many, cl::NullRange);
  print_time(fmt::format("  its choice for {}", many - 3), many - 3, cl::NullRange);
  const auto units = CL_CHECK(device->getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>());
  cookbook::println("few groups: {} work-items, work-item i makes 20 x i steps", few);
  for (const std::size_t groups : {1, 2, 256}) {
    if (few / groups > uneven.largest_group()) continue;
    cookbook::println("{:7} x {:3} work-items   {:9.3f} ms   one unit makes at least {:3.0f} % of the steps", groups,
                      few / groups, shortest_time(uneven, few, cl::NDRange(few / groups), 20, 200),
                      100 * part_of_one_unit(few, groups, units));
  }

  cookbook::Checks checks;
  checks.equal("group sizes that change a result", wrong, 0);
  return checks.exit_code();
}
