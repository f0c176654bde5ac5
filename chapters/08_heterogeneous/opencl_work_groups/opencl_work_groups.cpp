// Work-groups
//
// A range of 12 x 6 work-items is cut into work-groups of 4 x 3. Every work-item writes down the number of its group,
// and the picture of these numbers is printed. The rule behind it is checked in two and in three dimensions. Then a job
// whose parts differ in size is done in groups of every size that the device allows: the results are the same for all.
// How long the job takes is another matter, which opencl_work_groups_bench measures.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_work_groups/opencl_work_groups.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_work_groups
// Run:     opencl_work_groups [--group-columns N] [--group-rows N] [--device N]

#include <optional>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "work_groups.hpp"

namespace {

constexpr cl_uint count = 200;  // work-items of the uneven job

/// What work-item i should return: the number after i steps of a random number generator.
std::vector<cl_uint> steps_on_host() {
  std::vector<cl_uint> numbers(count, 1);
  for (cl_uint i = 1; i < count; ++i) numbers[i] = numbers[i - 1] * 1664525 + 1013904223;
  return numbers;
}

/// The uneven job in groups of `size` work-items, with as many groups as it takes.
std::vector<cl_uint> steps_on_device(cl::CommandQueue& queue, cl::Kernel& kernel, std::size_t size) {
  std::vector<cl_uint> numbers(count, 0);
  const std::size_t bytes = count * sizeof(cl_uint);
  const cl::Buffer result = CL_CHECK(cl::Buffer(CL_CHECK(queue.getInfo<CL_QUEUE_CONTEXT>()),
                                                CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, numbers.data()));
  CL_CHECK(kernel.setArg(0, result));
  CL_CHECK(kernel.setArg(1, count));
  CL_CHECK(kernel.setArg(2, cl_uint{0}));  // even: 0, so work-item i makes i steps
  const std::size_t groups = (count + size - 1) / size;
  CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(groups * size), cl::NDRange(size)));
  CL_CHECK(queue.enqueueReadBuffer(result, CL_TRUE, 0, bytes, numbers.data()));
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr Shape range = {12, 6, 1};
  Shape shape = {4, 3, 1};
  std::size_t device_number = 0;
  cookbook::Options options("Cut a range of work-items into work-groups");
  options.add("group-columns", shape[0], "columns of a work-group; a divisor of 12", 1, 1 << 20);
  options.add("group-rows", shape[1], "rows of a work-group; a divisor of 6", 1, 1 << 20);
  options.add("device", device_number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  const std::optional<cl::Device> device = opencl::chosen_device(device_number);
  if (!device) return opencl::without_device();

  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, *device));
  const cl::Program program = opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "work_groups.cl")));
  cl::Kernel make_steps = CL_CHECK(cl::Kernel(program, "make_steps"));

  // What this device allows for make_steps. Another device or kernel may allow less, so a program asks.
  const std::size_t largest = CL_CHECK(make_steps.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(*device));
  const std::size_t multiple =
      CL_CHECK(make_steps.getWorkGroupInfo<CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE>(*device));
  cookbook::println("{}", opencl::name_of(*device));
  cookbook::println("compute units: {}, group size: at most {}, best a multiple of {}",
                    CL_CHECK(device->getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>()), largest, multiple);

  const GroupMap map = CL_CHECK(map_on_device(queue, program, range, shape));
  for (auto row = map.group.begin(); row != map.group.end(); row += range[0]) {
    cookbook::println("{:2}", fmt::join(row, row + range[0], " "));
  }

  std::size_t wrong = 0;  // group sizes with another result than the host's
  const std::vector<cl_uint> expected = steps_on_host();
  for (std::size_t size = 1; size <= largest; size *= 2) wrong += steps_on_device(queue, make_steps, size) != expected;

  cookbook::Checks checks;
  checks.that("groups and places in two dimensions follow the rule", map == map_by_rule(range, shape));
  checks.that("groups and places in three dimensions follow the rule",
              CL_CHECK(map_on_device(queue, program, {6, 4, 4}, {3, 2, 1})) == map_by_rule({6, 4, 4}, {3, 2, 1}));
  checks.equal("group sizes that change the result", wrong, 0U);
  return checks.exit_code();
}
