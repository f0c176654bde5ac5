/// A reduction on an OpenCL device: any number of values combined into one by an operation on two.
#pragma once

#include <string>
#include <vector>

#include "cookbook/opencl.hpp"

enum class Form {
  strides,  ///< for GPUs: groups of several work-items, which load neighbouring values and combine theirs as a tree
  pieces    ///< for processors: groups of one work-item, each with a piece of the memory
};

/// The form that suits a device.
inline Form form_for(const cl::Device& device) {
  return (CL_CHECK(device.getInfo<CL_DEVICE_TYPE>()) & CL_DEVICE_TYPE_CPU) != 0 ? Form::pieces : Form::strides;
}

/// The operation has to be associative and commutative, and combining `neutral` with a must give a.
template <typename Value>
class Reduction {
 public:
  /// `type` is OpenCL's name for Value; `operation` is an expression in a and b, such as "a + b", that is valid for
  /// OpenCL's vectors of this type, too.
  Reduction(const cl::Device& device, Form form, const std::string& type, const std::string& operation,
            const std::string& neutral)
      : form_(form),
        context_(CL_CHECK(cl::Context(device))),
        queue_(opencl::profiling_queue(context_, device)),
        program_(opencl::build(
            context_,
            fmt::format("#define VALUE {0}\n#define VALUE16 {0}16\n#define COMBINE(a, b) ({1})\n#define NEUTRAL {2}\n",
                        type, operation, neutral) +
                opencl::read_kernels(opencl::beside(__FILE__, "reduction.cl")))),
        kernel_(CL_CHECK(cl::Kernel(program_, form == Form::strides ? "reduce_in_strides" : "reduce_in_pieces"))) {}

  /// The context in which a buffer for the reduction has to be made.
  const cl::Context& context() const { return context_; }

  /// Copies values from the host and combines them.
  Value operator()(const std::vector<Value>& values, std::size_t groups, std::size_t items) {
    const cl::Buffer all = CL_CHECK(cl::Buffer(context_, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                               values.size() * sizeof(Value), const_cast<Value*>(values.data())));
    return (*this)(all, values.size(), groups, items);
  }

  /// Combines values that are on the device: at least one, and fewer than 2^31. In strides there are `groups`
  /// work-groups of `items` work-items; in pieces there are `groups` work-items. The order of the operations depends on
  /// these two numbers and on the number of values alone.
  Value operator()(const cl::Buffer& all, std::size_t count, std::size_t groups, std::size_t items) {
    const cl::Buffer few = CL_CHECK(cl::Buffer(context_, CL_MEM_READ_WRITE, groups * sizeof(Value)));
    const cl::Buffer one = CL_CHECK(cl::Buffer(context_, CL_MEM_READ_WRITE, sizeof(Value)));

    const cl::Event first = reduce(all, count, few, groups, items);  // stage 1: one value per work-group
    const cl::Event second = reduce(few, groups, one, 1, items);     // stage 2: one work-group combines these

    Value result;
    CL_CHECK(queue_.enqueueReadBuffer(one, CL_TRUE, 0, sizeof(Value), &result));
    seconds_ = opencl::seconds_of(first) + opencl::seconds_of(second);
    return result;
  }

  /// How long the device took for the two kernels of the last call; the copies to and from it are not part of that.
  double seconds() const { return seconds_; }

 private:
  cl::Event reduce(const cl::Buffer& from, std::size_t count, const cl::Buffer& to, std::size_t groups,
                   std::size_t items) {
    CL_CHECK(kernel_.setArg(0, from));
    CL_CHECK(kernel_.setArg(1, static_cast<cl_uint>(count)));
    CL_CHECK(kernel_.setArg(2, to));
    if (form_ == Form::strides) {
      CL_CHECK(kernel_.setArg(3, cl::Local(items * sizeof(Value))));  // local memory: a size, and no data
    } else {
      items = 1;
    }
    cl::Event done;
    CL_CHECK(queue_.enqueueNDRangeKernel(kernel_, cl::NullRange, cl::NDRange(groups * items), cl::NDRange(items),
                                         nullptr, &done));
    return done;
  }

  Form form_;
  cl::Context context_;
  cl::CommandQueue queue_;
  cl::Program program_;
  cl::Kernel kernel_;
  double seconds_ = 0;
};
