/// A kernel made of one expression: what to do with the elements of index i.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "cookbook/opencl.hpp"
#include "device_vector.hpp"

class Elementwise {
 public:
  /// The whole kernel. `parameters` is a list as in OpenCL C, such as "float a, global float* x"; `operation` is what
  /// to do for index i.
  static std::string text(const std::string& name, const std::string& parameters, const std::string& operation) {
    // After the line #line, the compiler's messages name "operation", and count its lines from 1.
    const std::string head = "kernel void " + name + "(ulong count, " + parameters + ") {";
    const std::string body = R"cl(
  const size_t i = get_global_id(0);
  if (i < count) {
#line 1 "operation"
)cl";
    return head + body + operation + ";\n  }\n}";
  }

  /// Compiles the kernel for the device of `queue`. If there is a mistake in it, opencl::build shows the compiler's
  /// messages and ends the program.
  Elementwise(cl::CommandQueue queue, const std::string& name, const std::string& parameters,
              const std::string& operation)
      : queue_(std::move(queue)) {
    const cl::Context context = CL_CHECK(queue_.getInfo<CL_QUEUE_CONTEXT>());
    const cl::Program program = opencl::build(context, text(name, parameters, operation));
    kernel_ = CL_CHECK(cl::Kernel(program, name.c_str()));
  }

  /// Starts the kernel for every index of the vectors among the arguments, and returns its event. Throws
  /// std::invalid_argument if the vectors differ in length.
  template <typename... Arguments>
  cl::Event operator()(const Arguments&... arguments) {
    cl_ulong count = 0;
    cl_uint position = 1;  // parameter 0 is the count
    const auto pass = [&](const auto& argument) {
      if constexpr (requires { argument.buffer(); }) {  // it is a DeviceVector
        if (count != 0 && count != argument.size()) throw std::invalid_argument("the vectors differ in length");
        count = argument.size();
        CL_CHECK(kernel_.setArg(position++, argument.buffer()));
      } else {
        CL_CHECK(kernel_.setArg(position++, argument));
      }
    };
    (pass(arguments), ...);
    CL_CHECK(kernel_.setArg(0, count));
    // A multiple of 64, since in OpenCL 1.2 the size of a work-group has to divide it. The surplus items do nothing.
    const cl::NDRange items((count + 63) / 64 * 64);
    cl::Event event;
    CL_CHECK(queue_.enqueueNDRangeKernel(kernel_, cl::NullRange, items, cl::NullRange, nullptr, &event));
    return event;
  }

 private:
  cl::CommandQueue queue_;
  cl::Kernel kernel_;
};
