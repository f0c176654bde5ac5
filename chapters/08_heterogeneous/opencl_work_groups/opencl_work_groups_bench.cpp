// Work-groups, measured
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/08_heterogeneous/opencl_work_groups/opencl_work_groups_bench.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_work_groups_bench
// Run:     opencl_work_groups_bench [--count N] [--rounds N] [--device N]

#include <algorithm>
#include <optional>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "work_groups.hpp"

int main(int argc, char** argv) {
  std::size_t count = 1 << 22, device_number = 0;
  int rounds = 11;
  cookbook::Options options("How fast a job of many work-items is in work-groups of several sizes");
  options.add("count", count, "work-items; rounded up to a multiple of 4096", 1, 1 << 26);
  options.add("rounds", rounds, "measured runs of each row", 1, 1000);
  options.add("device", device_number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  const std::optional<cl::Device> device = opencl::chosen_device(device_number);
  if (!device) return opencl::without_device();

  count = (count + 4095) / 4096 * 4096;
  const cl::Context context = CL_CHECK(cl::Context(*device));
  const cl::CommandQueue queue = opencl::profiling_queue(context, *device);
  const cl::Program program = opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "work_groups.cl")));
  Job even(queue, program, "even", count);

  cookbook::Checks checks;
  for (const cl_uint steps : {1U, 8U, 64U}) {
    std::vector<cookbook::Benchmark> rows;
    int wrong = 0;
    const auto add_row = [&](const std::string& name, const cl::NDRange& group) {
      opencl::seconds_of(even.start(count, group, steps));
      wrong += !even.result_is_right(count, steps);
      rows.push_back(
          opencl::timed_row(name, static_cast<double>(count), [=, &even] { return even.start(count, group, steps); }));
    };
    add_row("size left to the driver", cl::NullRange);
    for (std::size_t size = 1; size <= std::min<std::size_t>(even.largest_group(), 4096); size *= 4) {
      add_row(fmt::format("groups of {}", size), cl::NDRange(size));
    }
    checks.equal(fmt::format("group sizes with a wrong result, {} steps each", steps), wrong, 0);

    cookbook::Figures figures(fmt::format("{} work-items, {} steps each", count, steps),
                              cookbook::rate("M work-items/s", 1e6), opencl::name_of(*device));
    figures.percent_of("size left to the driver", "driver's");
    figures.measure(rows, rounds);
    figures.print(checks);
  }
  return checks.exit_code();
}
