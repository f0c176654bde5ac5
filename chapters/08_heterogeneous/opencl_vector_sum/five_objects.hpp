/// The five objects that every OpenCL program has.
#pragma once

#include <string>

#include "cookbook/opencl.hpp"

/// Device, context, queue, program, kernel. Members are made in their order, the last four from some of those before.
struct FiveObjects {
  cl::Device device;                                                     ///< the hardware that runs kernels
  std::string source;                                                    ///< the kernels' text
  cl::Context context = CL_CHECK(cl::Context(device));                   ///< shares buffers and programs
  cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, device));  ///< commands, one after another
  cl::Program program = opencl::build(context, source);                  ///< the compiled kernels
  cl::Kernel kernel = CL_CHECK(cl::Kernel(program, "vector_sum"));       ///< one of them, with its arguments
};
