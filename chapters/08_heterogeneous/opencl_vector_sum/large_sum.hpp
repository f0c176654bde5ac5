/// Vectors that leave the caches: the bytes a second that a copy and the kernels move, by the device's own clock.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/figures.hpp"
#include "opencl_check.hpp"

namespace large_sum {

/// How long the device worked on a command, in seconds; waits for its end.
inline double seconds_of(const cl::Event& event) {
  CHECK_CL(event.wait());
  const auto start = CHECK_CL(event.getProfilingInfo<CL_PROFILING_COMMAND_START>());
  const auto end = CHECK_CL(event.getProfilingInfo<CL_PROFILING_COMMAND_END>());
  return static_cast<double>(end - start) * 1e-9;
}

/// Sums two vectors of `count` elements, checks all sums, and prints the rates. `count` is a multiple of 4.
inline void run(cookbook::Verdict& verdict, const cl::Device& device, const std::string& source, std::size_t count) {
  const cl::Context context = CHECK_CL(cl::Context(device));
  cl::CommandQueue queue = CHECK_CL(cl::CommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE));
  const cl::Program program = opencl::build(context, source);
  const std::size_t bytes = count * sizeof(cl_int);

  std::vector<cl_int> a(count), b(count), sum(count);
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = static_cast<cl_int>(i * 2654435761U >> 2 & 0xFFFFFF);
    b[i] = static_cast<cl_int>(i * 2246822519U >> 3 & 0xFFFFFF);
  }
  const cl::Buffer device_a = CHECK_CL(cl::Buffer(context, CL_MEM_READ_ONLY, bytes));
  const cl::Buffer device_b = CHECK_CL(cl::Buffer(context, CL_MEM_READ_ONLY, bytes));
  const cl::Buffer device_sum = CHECK_CL(cl::Buffer(context, CL_MEM_READ_WRITE, bytes));
  CHECK_CL(queue.enqueueWriteBuffer(device_a, CL_TRUE, 0, bytes, a.data()));
  CHECK_CL(queue.enqueueWriteBuffer(device_b, CL_TRUE, 0, bytes, b.data()));

  const auto start_kernel = [&](const char* name, std::size_t items) {
    cl::Kernel kernel = CHECK_CL(cl::Kernel(program, name));
    CHECK_CL(kernel.setArg(0, device_a));
    CHECK_CL(kernel.setArg(1, device_b));
    CHECK_CL(kernel.setArg(2, device_sum));
    CHECK_CL(kernel.setArg(3, static_cast<cl_uint>(items)));
    cl::Event event;
    CHECK_CL(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(items), cl::NullRange, nullptr, &event));
    return event;
  };
  const auto wrong_sums = [&] {
    CHECK_CL(queue.enqueueReadBuffer(device_sum, CL_TRUE, 0, bytes, sum.data()));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) wrong += sum[i] != a[i] + b[i];
    return wrong;
  };
  for (const auto& [name, items] : {std::pair{"vector_sum", count}, std::pair{"vector_sum_four", count / 4}}) {
    CHECK_CL(queue.enqueueFillBuffer(device_sum, cl_int{-1}, 0, bytes));
    start_kernel(name, items);
    verdict.equal(fmt::format("wrong sums of {} in large vectors", name), wrong_sums(), 0U);
  }

  // In turn, so that all see the same state of the machine; two rounds to warm up.
  std::array<std::vector<double>, 4> seconds;
  for (int round = -2; round < 11; ++round) {
    cl::Event copied;
    CHECK_CL(queue.enqueueCopyBuffer(device_a, device_sum, 0, 0, bytes, nullptr, &copied));
    const double times[] = {seconds_of(copied), seconds_of(start_kernel("copy_four", count / 4)),
                            seconds_of(start_kernel("vector_sum", count)),
                            seconds_of(start_kernel("vector_sum_four", count / 4))};
    for (std::size_t i = 0; round >= 0 && i < seconds.size(); ++i) seconds[i].push_back(times[i]);
  }
  const double moved = static_cast<double>(bytes);
  cookbook::Figures figures(fmt::format("{} integers", count), cookbook::rate("GB/s", 1e9), opencl::name_of(device));
  figures.add("enqueueCopyBuffer", cookbook::timing_of(seconds[0]), 2 * moved);
  figures.add_limit("copy by a kernel", cookbook::timing_of(seconds[1]), 2 * moved);
  figures.add("sum, one a work-item", cookbook::timing_of(seconds[2]), 3 * moved);
  figures.add("sum, four a work-item", cookbook::timing_of(seconds[3]), 3 * moved);
  figures.print(verdict);
}

}  // namespace large_sum
