// Work-groups
//
// What does the size of a work-group change? First a picture: 12 x 6 work-items are cut into groups of 4 x 3, and each
// work-item writes down its group's number. Then a million work-items are run in groups of 1 to 256, and of a size that
// the driver chooses, with one step of work each and with 64. Finally 256 work-items with more and more work are run as
// 1, 2, 16 and 256 groups, which shows how well the load is spread. The times change; the results do not.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_work_groups/opencl_work_groups.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_work_groups
// Run:     opencl_work_groups [--group-columns N] [--group-rows N] [--items N] [--device N]

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

}  // namespace

int main(int argc, char** argv) {
  constexpr Shape range = {12, 6, 1};
  Shape shape = {4, 3, 1};
  std::size_t device_number = 0, many = 1 << 20;
  constexpr std::size_t few = 256;
  cookbook::Options options("Cut a range of work-items into work-groups");
  options.add("group-columns", shape[0], "columns of a work-group; a divisor of 12", 1, 1 << 20);
  options.add("group-rows", shape[1], "rows of a work-group; a divisor of 6", 1, 1 << 20);
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
  const GroupMap map = CL_CHECK(map_on_device(queue, program, range, shape));
  for (auto row = map.group.begin(); row != map.group.end(); row += range[0]) {
    cookbook::println("{:2}", fmt::join(row, row + range[0], " "));
  }

  // What the device allows for this kernel. Another device or kernel may allow less, so a program asks.
  Job even(queue, program, "even", many), uneven(queue, program, "uneven", few);
  cookbook::println("groups of at most {}, best a multiple of {}", even.largest_group(), even.best_multiple());

  cookbook::println("{} work-items, groups     1 step each   64 steps each", many);
  const auto print_times = [&](const std::string& groups, std::size_t count, const cl::NDRange& group) {
    cookbook::println("{:<24}   {:9.3f} ms    {:9.3f} ms", groups, shortest_time(even, count, group, 1, 10),
                      shortest_time(even, count, group, 64, 3));
  };
  for (const std::size_t size : {1, 16, 256}) {
    if (size > even.largest_group()) break;
    print_times(fmt::format("{:7} x {:3} work-items", many / size, size), many, cl::NDRange(size));
  }
  // The driver needs a size that divides the number of work-items. 1048573, three less than a million here, is prime.
  print_times("  of the driver's choice", many, cl::NullRange);
  print_times(fmt::format("  the same for {}", many - 3), many - 3, cl::NullRange);
  cookbook::println("{} work-items, number i makes 20 i steps", few);
  for (const std::size_t groups : {1, 2, 16, 256}) {
    if (few / groups > uneven.largest_group()) continue;
    cookbook::println("{:7} x {:3} work-items   {:9.3f} ms", groups, few / groups,
                      shortest_time(uneven, few, cl::NDRange(few / groups), 20, 200));
  }

  cookbook::Checks checks;
  checks.that("groups and places in the picture follow the rule", map == map_by_rule(range, shape));
  checks.equal("group sizes that change a result", wrong, 0);
  return checks.exit_code();
}
