// Work-groups, measured
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/08_heterogeneous/opencl_work_groups/opencl_work_groups_bench.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_work_groups_bench
// Run:     opencl_work_groups_bench [--count N] [--rounds N] [--device N]

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"

int main(int argc, char** argv) {
  cl_uint count = 1 << 13;
  std::size_t device_number = 0;
  int rounds = 11;
  cookbook::Options options("How fast a job is in work-groups of several sizes");
  options.add("count", count, "work-items; rounded up to a multiple of 4096", 1, 1 << 18);
  options.add("rounds", rounds, "measured runs of each row", 1, 1000);
  options.add("device", device_number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  const std::optional<cl::Device> device = opencl::chosen_device(device_number);
  if (!device) return opencl::without_device();

  count = (count + 4095) / 4096 * 4096;
  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = opencl::profiling_queue(context, *device);
  cl::Kernel kernel = CL_CHECK(cl::Kernel(
      opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "work_groups.cl"))), "make_steps"));
  const std::size_t bytes = count * sizeof(cl_uint);
  const cl::Buffer result = CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE, bytes));
  const std::size_t largest = CL_CHECK(kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(*device));

  std::vector<cl_uint> expected(count, 1), numbers(count);
  for (cl_uint i = 1; i < count; ++i) expected[i] = expected[i - 1] * 1664525 + 1013904223;

  cookbook::Checks checks;
  for (const bool even : {true, false}) {
    const auto start = [&, even](const cl::NDRange& group) {
      CL_CHECK(kernel.setArg(0, result));
      CL_CHECK(kernel.setArg(1, count));
      CL_CHECK(kernel.setArg(2, static_cast<cl_uint>(even)));
      cl::Event event;
      CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(count), group, nullptr, &event));
      return event;
    };
    std::vector<cookbook::Benchmark> rows;
    std::size_t wrong = 0;
    const double steps = 0.5 * count * (even ? count : count - 1);
    const auto add_row = [&](const std::string& name, const cl::NDRange& group) {
      CL_CHECK(queue.enqueueFillBuffer(result, cl_uint{0}, 0, bytes));
      start(group);
      CL_CHECK(queue.enqueueReadBuffer(result, CL_TRUE, 0, bytes, numbers.data()));
      for (cl_uint i = 0; i < count; ++i) wrong += numbers[i] != expected[even ? count / 2 : i];
      rows.push_back(opencl::timed_row(name, steps, [=] { return start(group); }));
    };
    add_row("size left to the driver", cl::NullRange);
    for (std::size_t size = 1; size <= std::min<std::size_t>(largest, 4096); size *= 4) {
      add_row(fmt::format("groups of {}", size), cl::NDRange(size));
    }
    checks.equal(even ? "wrong results, even job" : "wrong results, uneven job", wrong, 0U);

    cookbook::Figures figures(
        fmt::format("{} work-items, {}", count, even ? "all with the same number of steps" : "item i makes i steps"),
        cookbook::rate("G steps/s", 1e9), opencl::name_of(*device));
    figures.percent_of("size left to the driver", "driver's");
    figures.measure(rows, rounds);
    figures.print(checks);
  }
  return checks.exit_code();
}
