/// Kernels run over a range of work-items, in work-groups of a given shape, and what they should write.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cookbook/opencl.hpp"

/// Sizes in the dimensions 0, 1 and 2.
using Shape = std::array<int, 3>;

inline int volume(const Shape& shape) { return shape[0] * shape[1] * shape[2]; }

/// For each work-item, in the order of x, then y, then z: its group's number, and its own number within the group.
struct GroupMap {
  std::vector<cl_int> group, item;
  bool operator==(const GroupMap&) const = default;
};

/// The map that the work-items of a device write. Throws cl::Error if the device refuses groups of this shape.
inline GroupMap map_on_device(cl::CommandQueue& queue, const cl::Program& program, const Shape& range,
                              const Shape& shape) {
  const cl::Context context = CL_CHECK(queue.getInfo<CL_QUEUE_CONTEXT>());
  GroupMap map{std::vector<cl_int>(volume(range), -1), std::vector<cl_int>(volume(range), -1)};
  const std::size_t bytes = map.group.size() * sizeof(cl_int);
  const cl_mem_flags copy = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
  const cl::Buffer group = CL_CHECK(cl::Buffer(context, copy, bytes, map.group.data()));
  const cl::Buffer item = CL_CHECK(cl::Buffer(context, copy, bytes, map.item.data()));
  cl::Kernel kernel = CL_CHECK(cl::Kernel(program, "where_am_i"));
  CL_CHECK(kernel.setArg(0, group));
  CL_CHECK(kernel.setArg(1, item));
  const bool two_dimensions = range[2] == 1 && shape[2] == 1;
  const auto sizes = [&](const Shape& s) {
    return two_dimensions ? cl::NDRange(s[0], s[1]) : cl::NDRange(s[0], s[1], s[2]);
  };
  // Not in CL_CHECK: the caller decides what it means that the device refuses the shape.
  queue.enqueueNDRangeKernel(kernel, cl::NullRange, sizes(range), sizes(shape));
  CL_CHECK(queue.enqueueReadBuffer(group, CL_TRUE, 0, bytes, map.group.data()));
  CL_CHECK(queue.enqueueReadBuffer(item, CL_TRUE, 0, bytes, map.item.data()));
  return map;
}

/// The map that follows from the rule: in each dimension, group id = global id / size, local id = global id % size.
inline GroupMap map_by_rule(const Shape& range, const Shape& shape) {
  GroupMap map;
  const Shape groups = {range[0] / shape[0], range[1] / shape[1], range[2] / shape[2]};
  for (int z = 0; z < range[2]; ++z) {
    for (int y = 0; y < range[1]; ++y) {
      for (int x = 0; x < range[0]; ++x) {
        map.group.push_back((z / shape[2] * groups[1] + y / shape[1]) * groups[0] + x / shape[0]);
        map.item.push_back((z % shape[2] * shape[1] + y % shape[1]) * shape[0] + x % shape[0]);
      }
    }
  }
  return map;
}

/// What a work-item that begins with `number` has after so many steps of the generator in work_groups.cl.
inline cl_uint after(cl_uint number, cl_uint steps) {
  for (; steps > 0; --steps) number = number * 1664525U + 1013904223U;
  return number;
}

/// One of the jobs of work_groups.cl, "even" or "uneven", on the device of a queue that has profiling enabled.
class Job {
 public:
  Job(const cl::CommandQueue& queue, const cl::Program& program, const std::string& name, std::size_t largest_count)
      : queue_(queue),
        kernel_(CL_CHECK(cl::Kernel(program, name.c_str()))),
        device_(CL_CHECK(queue.getInfo<CL_QUEUE_DEVICE>())),
        bytes_(largest_count * sizeof(cl_uint)),
        result_(CL_CHECK(cl::Buffer(CL_CHECK(queue.getInfo<CL_QUEUE_CONTEXT>()), CL_MEM_READ_WRITE, bytes_))),
        is_even_(name == "even") {}

  std::size_t largest_group() const { return CL_CHECK(kernel_.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(device_)); }

  /// Starts `count` work-items; cl::NullRange for `group` leaves the size to the driver. What an earlier run has
  /// written is overwritten first. Returns the event of the kernel.
  cl::Event start(std::size_t count, const cl::NDRange& group, cl_uint steps) {
    CL_CHECK(queue_.enqueueFillBuffer(result_, cl_uint{0xdeadbeef}, 0, bytes_));
    CL_CHECK(kernel_.setArg(0, result_));
    CL_CHECK(kernel_.setArg(1, steps));
    cl::Event event;
    CL_CHECK(queue_.enqueueNDRangeKernel(kernel_, cl::NullRange, cl::NDRange(count), group, nullptr, &event));
    return event;
  }

  /// Whether each of the `count` work-items of the last start has the number that the host computes.
  bool result_is_right(std::size_t count, cl_uint steps) {
    std::vector<cl_uint> numbers(count);
    CL_CHECK(queue_.enqueueReadBuffer(result_, CL_TRUE, 0, count * sizeof(cl_uint), numbers.data()));
    // n steps of the even job are one step with other factors: number * factor + rest (modulo 2^32).
    const cl_uint rest = after(0, is_even_ ? steps : 0), factor = after(1, is_even_ ? steps : 0) - rest;
    for (cl_uint i = 0; i < count; ++i) {
      if (numbers[i] != (is_even_ ? i * factor + rest : after(i, i * steps))) return false;
    }
    return true;
  }

 private:
  cl::CommandQueue queue_;
  cl::Kernel kernel_;
  cl::Device device_;
  std::size_t bytes_;
  cl::Buffer result_;
  bool is_even_;
};
