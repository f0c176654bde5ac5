/// Running kernels over ranges of two or three dimensions, in work-groups of a given shape.
#pragma once

#include <array>
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
