/// Measuring time on an OpenCL device.
#pragma once

#include <string>
#include <utility>

#include "cookbook/measure.hpp"
#include "opencl_check.hpp"

namespace opencl {

/// A command queue whose commands note when they begin and end.
inline cl::CommandQueue profiling_queue(const cl::Context& context, const cl::Device& device) {
  return CHECK_CL(cl::CommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE));
}

/// Waits for the command of `event`, and returns how long the device took for it, in seconds. Its queue must have
/// profiling enabled. Time in the queue is not part of it.
inline double seconds_of(const cl::Event& event) {
  CHECK_CL(event.wait());
  const cl_ulong begin = CHECK_CL(event.getProfilingInfo<CL_PROFILING_COMMAND_START>());
  const cl_ulong end = CHECK_CL(event.getProfilingInfo<CL_PROFILING_COMMAND_END>());
  return static_cast<double>(end - begin) * 1e-9;
}

/// A row of a measurement whose `work()` queues one command and returns its event.
template <typename Work>
cookbook::Benchmark timed_row(std::string name, double amount, Work work) {
  return {std::move(name), amount, [work = std::move(work)]() mutable { return seconds_of(work()); }};
}

}  // namespace opencl
