/// The five objects that every OpenCL program has, and a sum that is computed with them.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/opencl.hpp"

/// Device, context, queue, program, kernel: each one needs those before it.
struct FiveObjects {
  cl::Device device;                                                     ///< the hardware that runs kernels
  std::string source;                                                    ///< the kernels' text, for the fourth object
  cl::Context context = CL_CHECK(cl::Context(device));                   ///< devices that share buffers and programs
  cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, device));  ///< what the device does, one after another
  cl::Program program = opencl::build(context, source);                  ///< the kernels, compiled for the device
  cl::Kernel kernel = CL_CHECK(cl::Kernel(program, "vector_sum"));       ///< one of them, with its arguments
};

using Vector = std::vector<cl_int>;  ///< cl_int has 32 bits, as the kernel's int

/// A buffer with a copy of `numbers`. It belongs to the context; the data go to a device when one needs them.
inline cl::Buffer buffer_of(const cl::Context& context, cl_mem_flags access, const Vector& numbers) {
  // The constructor takes a pointer to what is not const, but only reads from it here.
  return CL_CHECK(cl::Buffer(context, access | CL_MEM_COPY_HOST_PTR, numbers.size() * sizeof(cl_int),
                             const_cast<cl_int*>(numbers.data())));
}

/// `count` rounded up to whole work-groups of `group` work-items.
inline std::size_t work_items(std::size_t count, std::size_t group) { return (count + group - 1) / group * group; }

/// Adds a[i] and b[i] on the device, and stores the sums in `sum`, which may be longer. `items` work-items in groups of
/// `group` share the job. Throws std::invalid_argument if the vectors do not fit, and cl::Error if the device refuses
/// the number of work-items.
inline void sum_on_device(FiveObjects& five, const Vector& a, const Vector& b, Vector& sum, std::size_t items,
                          std::size_t group) {
  if (a.size() != b.size() || sum.size() < a.size()) throw std::invalid_argument("the vectors differ in length");
  const cl::Buffer device_a = buffer_of(five.context, CL_MEM_READ_ONLY, a);
  const cl::Buffer device_b = buffer_of(five.context, CL_MEM_READ_ONLY, b);
  const cl::Buffer device_sum = buffer_of(five.context, CL_MEM_READ_WRITE, sum);

  CL_CHECK(five.kernel.setArg(0, device_a));
  CL_CHECK(five.kernel.setArg(1, device_b));
  CL_CHECK(five.kernel.setArg(2, device_sum));
  CL_CHECK(five.kernel.setArg(3, static_cast<cl_uint>(a.size())));
  // Not in CL_CHECK: the caller decides what it means that the device refuses the number of work-items.
  five.queue.enqueueNDRangeKernel(five.kernel, cl::NullRange, cl::NDRange(items), cl::NDRange(group));
  // The queue keeps the order, so this reads what the kernel has written. CL_TRUE: the host waits until it is done.
  CL_CHECK(five.queue.enqueueReadBuffer(device_sum, CL_TRUE, 0, sum.size() * sizeof(cl_int), sum.data()));
}
