/// The five objects that every OpenCL program has, and a sum that is computed with them.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/measure.hpp"
#include "cookbook/opencl.hpp"

/// Device, context, queue, program, kernel. Members are made in their order, the last four from some of those before.
struct FiveObjects {
  cl::Device device;                                                     ///< the hardware that runs kernels
  std::string source;                                                    ///< the kernels' text, for the fourth object
  cl::Context context = CL_CHECK(cl::Context(device));                   ///< devices that share buffers and programs
  cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, device));  ///< what the device does, one after another
  cl::Program program = opencl::build(context, source);                  ///< the kernels, compiled for the device
  cl::Kernel kernel = CL_CHECK(cl::Kernel(program, "vector_sum"));       ///< one of them, with its arguments
};

using Vector = std::vector<cl_int>;  ///< cl_int has 32 bits, as the kernel's int

/// `count` rounded up to whole work-groups of `group` work-items.
inline std::size_t work_items(std::size_t count, std::size_t group) { return (count + group - 1) / group * group; }

/// How long the host waited for each part of a sum, in seconds.
struct Times {
  double to_device, kernel, to_host;
  double together() const { return to_device + kernel + to_host; }
};

/// Memory on the device for two vectors and their sums.
struct Buffers {
  cl::Buffer a, b, sum;
};

inline Buffers buffers_for(const FiveObjects& five, const Vector& a, const Vector& b, const Vector& sum) {
  const auto buffer = [&](cl_mem_flags access, const Vector& v) {
    return CL_CHECK(cl::Buffer(five.context, access, v.size() * sizeof(cl_int)));
  };
  return {buffer(CL_MEM_READ_ONLY, a), buffer(CL_MEM_READ_ONLY, b), buffer(CL_MEM_READ_WRITE, sum)};
}

/// Adds a[i] and b[i] on the device, and stores the sums in `sum`, which may be longer. `items` work-items in groups of
/// `group` share the job. Throws std::invalid_argument if the vectors do not fit.
inline Times sum_on_device(FiveObjects& five, const Buffers& device, const Vector& a, const Vector& b, Vector& sum,
                           std::size_t items, std::size_t group) {
  if (a.size() != b.size() || sum.size() < a.size()) throw std::invalid_argument("the vectors differ in length");
  const std::size_t bytes = a.size() * sizeof(cl_int), sum_bytes = sum.size() * sizeof(cl_int);
  // Not timed: `sum` goes to the device as it is, so that the caller can see which elements the kernel left alone.
  CL_CHECK(five.queue.enqueueWriteBuffer(device.sum, CL_TRUE, 0, sum_bytes, sum.data()));
  // CL_TRUE: the host waits until `a` may be changed, and in the read below until the sums are there.
  const cookbook::Stopwatch copies;
  CL_CHECK(five.queue.enqueueWriteBuffer(device.a, CL_TRUE, 0, bytes, a.data()));
  CL_CHECK(five.queue.enqueueWriteBuffer(device.b, CL_TRUE, 0, bytes, b.data()));
  const double to_device = copies.seconds();

  CL_CHECK(five.kernel.setArg(0, device.a));
  CL_CHECK(five.kernel.setArg(1, device.b));
  CL_CHECK(five.kernel.setArg(2, device.sum));
  CL_CHECK(five.kernel.setArg(3, static_cast<cl_uint>(a.size())));
  const cookbook::Stopwatch kernel;
  CL_CHECK(five.queue.enqueueNDRangeKernel(five.kernel, cl::NullRange, cl::NDRange(items), cl::NDRange(group)));
  CL_CHECK(five.queue.finish());  // only to take the time: the queue keeps the order, so the read waits for the kernel
  const double seconds = kernel.seconds();

  const cookbook::Stopwatch back;
  CL_CHECK(five.queue.enqueueReadBuffer(device.sum, CL_TRUE, 0, sum_bytes, sum.data()));
  return {to_device, seconds, back.seconds()};
}

/// The same with buffers of its own, for a single sum.
inline Times sum_on_device(FiveObjects& five, const Vector& a, const Vector& b, Vector& sum, std::size_t items,
                           std::size_t group) {
  return sum_on_device(five, buffers_for(five, a, b, sum), a, b, sum, items, group);
}
