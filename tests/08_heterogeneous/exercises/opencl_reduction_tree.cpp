// Tests a tree in a kernel that a learner has written.

#include "reduction.hpp"

#include <limits>
#include <numeric>

using judge::expect;

int main() {
  const auto device = opencl::chosen_device(0);
  if (!device) return opencl::without_device();
  Reduction<cl_int> sum(*device, Form::strides, "int", "a + b", "0");
  Reduction<cl_int> most(*device, Form::strides, "int", "max(a, b)", "INT_MIN");
  for (const std::size_t items : {1, 2, 3, 7, 64, 100}) {
    for (const std::size_t count : {1, 5, 64, 1000}) {
      std::vector<cl_int> values(count);
      std::iota(values.begin(), values.end(), -3);
      const cl_int expected = std::accumulate(values.begin(), values.end(), 0);
      expect(sum(values, 3, items) == expected, "The sum is wrong with 3 groups of " + std::to_string(items) +
                                                    " work-items and " + std::to_string(count) + " values.");
      expect(most(values, 3, items) == values.back(), "The greatest value is wrong.");
    }
  }
  // The greatest number of operations one behind the other: each work-item has one for its value, and then the tree.
  Reduction<cl_int> depth(*device, Form::strides, "int", "max(a, b) + 1", "0");
  const cl_int operations = depth(std::vector<cl_int>(64, 0), 1, 64);
  expect(operations < 60, "The values of 64 work-items are combined one after another, and not level by level.");
  cookbook::println("all values are combined");
  return 0;
}
