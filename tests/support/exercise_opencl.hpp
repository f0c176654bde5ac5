/// What the judge of exercises looks at in a program that uses OpenCL: the ranges that it starts, and what it reads. An
/// exercise includes it in the C++ that comes before the program, and defines the two functions below. The functions of
/// OpenCL at the end stand before those of the library.
#pragma once

#include <dlfcn.h>

#include <cstddef>

#include "cookbook/opencl.hpp"

namespace judge {

/// What a kernel is started with. A size that the program leaves to the driver is 0, and that of a dimension which the
/// range does not have is 1.
struct Range {
  std::size_t global[3] = {1, 1, 1}, group[3] = {1, 1, 1};
  cl_kernel kernel = nullptr;

  std::size_t items() const { return global[0] * global[1] * global[2]; }
  std::size_t group_items() const { return group[0] * group[1] * group[2]; }
};

/// Called before each kernel is started, with the sizes that it is going to have, which it may change.
void at_start(cl_command_queue queue, Range& range);

/// Called when so many bytes have been read.
void at_read(const void* data, std::size_t bytes);

/// The library's function of that name.
template <typename Function>
Function of_library(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace judge

extern "C" inline cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                                const std::size_t* offset, const std::size_t* global,
                                                const std::size_t* group, cl_uint count, const cl_event* events,
                                                cl_event* event) {
  static const auto real = judge::of_library<decltype(&clEnqueueNDRangeKernel)>("clEnqueueNDRangeKernel");
  judge::Range range;
  range.kernel = kernel;
  for (cl_uint i = 0; i < dimensions && i < 3; ++i) {
    range.global[i] = global[i];
    range.group[i] = group != nullptr ? group[i] : 0;
  }
  judge::at_start(queue, range);
  return real(queue, kernel, dimensions, offset, range.global, group != nullptr ? range.group : nullptr, count, events,
              event);
}

/// Waits for the copy in any case.
extern "C" inline cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool, std::size_t offset,
                                             std::size_t bytes, void* data, cl_uint count, const cl_event* events,
                                             cl_event* event) {
  static const auto real = judge::of_library<decltype(&clEnqueueReadBuffer)>("clEnqueueReadBuffer");
  const cl_int error = real(queue, buffer, CL_TRUE, offset, bytes, data, count, events, event);
  if (error == CL_SUCCESS) judge::at_read(data, bytes);
  return error;
}
