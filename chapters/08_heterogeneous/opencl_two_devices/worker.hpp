/// One of the devices that share a job, and its part of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cookbook/measure.hpp"
#include "cookbook/opencl.hpp"

/// How many of `elements` the first of two devices should get, so that both end at the same time; at least one for
/// each. The speeds may have any unit, if both have the same. Needs two elements or more.
inline std::size_t share_of_first(std::size_t elements, double speed_of_first, double speed_of_second) {
  const double exact_share = static_cast<double>(elements) * speed_of_first / (speed_of_first + speed_of_second);
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(exact_share)), 1, elements - 1);
}

/// A device with a context and a command queue of its own, so that the other one may have another driver.
class Worker {
 public:
  /// For a job of so many elements, each with so many iterations. It is done `repeats` times, as on a slow device.
  Worker(const cl::Device& device, std::size_t elements, int times, int repeats = 1)
      : context_(CL_CHECK(cl::Context(device))),
        queue_(CL_CHECK(cl::CommandQueue(context_, device))),
        program_(opencl::build(context_, opencl::read_kernels(opencl::beside(__FILE__, "iterate.cl")))),
        kernel_(CL_CHECK(cl::Kernel(program_, "iterate"))),
        part_(CL_CHECK(cl::Buffer(context_, CL_MEM_WRITE_ONLY, elements * sizeof(float)))),
        repeats_(repeats) {
    CL_CHECK(kernel_.setArg(0, part_));
    CL_CHECK(kernel_.setArg(1, 1 / static_cast<float>(elements)));
    CL_CHECK(kernel_.setArg(2, times));
  }

  /// Starts to compute `count` elements from `first` on; does not wait.
  void start(std::size_t first, std::size_t count) {
    count_ = count;
    if (count == 0) return;
    CL_CHECK(kernel_.setArg(3, static_cast<cl_ulong>(first)));
    for (int i = 0; i < repeats_; ++i) {
      CL_CHECK(queue_.enqueueNDRangeKernel(kernel_, cl::NullRange, cl::NDRange(count)));
    }
    CL_CHECK(queue_.flush());  // hands the command to the device now, not when somebody waits for it
  }

  /// Waits until these elements are computed, and copies them to `to`.
  void fetch(float* to) {
    if (count_ == 0) return;
    CL_CHECK(queue_.enqueueReadBuffer(part_, CL_TRUE, 0, count_ * sizeof(float), to));
  }

  /// Elements per second, copies included, by a trial with the first `count` elements.
  double speed(std::size_t count) {
    std::vector<float> unused(count);
    double shortest = std::numeric_limits<double>::infinity();
    for (int run = 0; run < 10; ++run) {
      const cookbook::Stopwatch watch;
      start(0, count);
      fetch(unused.data());
      if (run > 0) shortest = std::min(shortest, watch.seconds());  // run 0 is a warm-up: a driver may still compile
    }
    return static_cast<double>(count) / shortest;
  }

 private:
  cl::Context context_;
  cl::CommandQueue queue_;
  cl::Program program_;
  cl::Kernel kernel_;
  cl::Buffer part_;
  int repeats_;
  std::size_t count_ = 0;  // elements of the part that was started last
};
