/// Vectors that leave the caches: the bytes a second that a copy and the kernels move, by the device's own clock.
#pragma once

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
inline void run(cookbook::Checks& checks, const cl::Device& device, const std::string& source, std::size_t count) {
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
    checks.equal(fmt::format("wrong sums of {} in large vectors", name), wrong_sums(), 0U);
  }

  const double moved = static_cast<double>(bytes);
  const auto row = [&](const std::string& name, double amount, const char* kernel, std::size_t items) {
    return cookbook::Row(name, amount, [=] { return seconds_of(start_kernel(kernel, items)); });
  };
  const auto copied_by_queue = [&] {
    cl::Event copied;
    CHECK_CL(queue.enqueueCopyBuffer(device_a, device_sum, 0, 0, bytes, nullptr, &copied));
    return seconds_of(copied);
  };
  cookbook::Figures figures(fmt::format("{} integers", count), cookbook::rate("GB/s", 1e9), opencl::name_of(device));
  figures.measure({{"enqueueCopyBuffer", 2 * moved, copied_by_queue},
                   row("copy by a kernel", 2 * moved, "copy_four", count / 4),
                   row("sum, one a work-item", 3 * moved, "vector_sum", count),
                   row("sum, four a work-item", 3 * moved, "vector_sum_four", count / 4)},
                  11);
  figures.percent_of("copy by a kernel", "copy");
  figures.print(checks);
}

}  // namespace large_sum
