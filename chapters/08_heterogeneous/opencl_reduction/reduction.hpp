/// A reduction on an OpenCL device: any number of values combined into one by an operation on two.
#pragma once

#include <string>
#include <vector>

#include "cookbook/opencl.hpp"

/// The operation has to be associative and commutative, and combining `neutral` with a must give a.
template <typename Value>
class Reduction {
 public:
  /// `type` is OpenCL's name for Value; `operation` is an expression in a and b, such as "a + b".
  Reduction(const cl::Device& device, const std::string& type, const std::string& operation, const std::string& neutral)
      : context_(CL_CHECK(cl::Context(device))),
        queue_(CL_CHECK(cl::CommandQueue(context_, device))),
        program_(
            opencl::build(context_, fmt::format("#define VALUE {}\n#define COMBINE(a, b) ({})\n#define NEUTRAL {}\n",
                                                type, operation, neutral) +
                                        opencl::read_kernels(opencl::beside(__FILE__, "reduction.cl")))),
        kernel_(CL_CHECK(cl::Kernel(program_, "reduce"))) {}

  /// Combines at least one value, with `groups` work-groups of `items` work-items. The order of the operations depends
  /// on these two numbers and on the number of values alone.
  Value operator()(const std::vector<Value>& values, std::size_t groups, std::size_t items) {
    const cl::Buffer all = CL_CHECK(cl::Buffer(context_, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                               values.size() * sizeof(Value), const_cast<Value*>(values.data())));
    const cl::Buffer of_group = CL_CHECK(cl::Buffer(context_, CL_MEM_READ_WRITE, groups * sizeof(Value)));
    const cl::Buffer of_all = CL_CHECK(cl::Buffer(context_, CL_MEM_READ_WRITE, sizeof(Value)));

    reduce(all, values.size(), of_group, groups, items);  // stage 1: one value per work-group
    reduce(of_group, groups, of_all, 1, items);           // stage 2: one work-group combines these

    Value result;
    CL_CHECK(queue_.enqueueReadBuffer(of_all, CL_TRUE, 0, sizeof(Value), &result));
    return result;
  }

 private:
  void reduce(const cl::Buffer& from, std::size_t count, const cl::Buffer& to, std::size_t groups, std::size_t items) {
    CL_CHECK(kernel_.setArg(0, from));
    CL_CHECK(kernel_.setArg(1, static_cast<cl_uint>(count)));
    CL_CHECK(kernel_.setArg(2, cl::Local(items * sizeof(Value))));  // local memory: a size, and no data
    CL_CHECK(kernel_.setArg(3, to));
    CL_CHECK(queue_.enqueueNDRangeKernel(kernel_, cl::NullRange, cl::NDRange(groups * items), cl::NDRange(items)));
  }

  cl::Context context_;
  cl::CommandQueue queue_;
  cl::Program program_;
  cl::Kernel kernel_;
};
