/// The same sum many times: on the host by one thread or several, and on a device, timed by two clocks.
#pragma once

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/opencl.hpp"

using Vector = std::vector<float>;

/// c[i] = a[i] + b[i], `repeats` times for each i from `begin` to `end` - 1. All repetitions but the last are useless;
/// `volatile` keeps the compiler from removing them.
inline void repeated_sum(const volatile float* a, const volatile float* b, volatile float* c, std::size_t begin,
                         std::size_t end, unsigned repeats) {
  for (std::size_t i = begin; i < end; ++i) {
    for (unsigned r = 0; r < repeats; ++r) c[i] = a[i] + b[i];
  }
}

/// The same with the elements divided among threads.
inline void repeated_sum_by_threads(const Vector& a, const Vector& b, Vector& c, unsigned repeats,
                                    std::size_t threads) {
  std::vector<std::jthread> workers;
  for (std::size_t t = 0; t < threads; ++t) {
    const std::size_t begin = a.size() * t / threads, end = a.size() * (t + 1) / threads;
    workers.emplace_back([&, begin, end] { repeated_sum(a.data(), b.data(), c.data(), begin, end, repeats); });
  }
}

/// The same on a device, ready to be run and timed.
class DeviceSum {
 public:
  /// On the first device of the context, for which the program has been compiled.
  DeviceSum(const cl::Context& context, const cl::Program& program, const Vector& a, const Vector& b)
      : context_(context),
        queue_(opencl::profiling_queue(context, CL_CHECK(context.getInfo<CL_CONTEXT_DEVICES>()).front())),
        kernel_(CL_CHECK(cl::Kernel(program, "repeated_sum"))),
        count_(a.size()),
        a_(copy_of(a)),
        b_(copy_of(b)),
        c_(CL_CHECK(cl::Buffer(context_, CL_MEM_WRITE_ONLY, bytes()))) {
    CL_CHECK(kernel_.setArg(0, a_));
    CL_CHECK(kernel_.setArg(1, b_));
    CL_CHECK(kernel_.setArg(2, c_));
    CL_CHECK(kernel_.setArg(3, static_cast<cl_uint>(count_)));
  }

  std::size_t bytes() const { return count_ * sizeof(float); }

  /// Overwrites the sums of earlier runs on the device, so that a run that leaves one out is noticed.
  void poison() {
    CL_CHECK(queue_.enqueueFillBuffer(c_, std::nanf(""), 0, bytes()));
    CL_CHECK(queue_.finish());
  }

  /// Starts the kernel, and returns before it has ended. The event has its times. With cl::NullRange the driver chooses
  /// how many work-items form a group.
  cl::Event launch(unsigned repeats, const cl::NDRange& group = cl::NullRange) {
    const std::size_t size = group.dimensions() == 0 ? 1 : group.get()[0];
    const cl::NDRange all((count_ + size - 1) / size * size);
    CL_CHECK(kernel_.setArg(4, cl_uint{repeats}));
    cl::Event event;
    CL_CHECK(queue_.enqueueNDRangeKernel(kernel_, cl::NullRange, all, group, nullptr, &event));
    return event;
  }

  /// Waits for the kernel, and copies the sums to `c`.
  void read(Vector& c) { CL_CHECK(queue_.enqueueReadBuffer(c_, CL_TRUE, 0, bytes(), c.data())); }

  /// Both.
  cl::Event run(unsigned repeats, Vector& c, const cl::NDRange& group = cl::NullRange) {
    const cl::Event event = launch(repeats, group);
    read(c);
    return event;
  }

 private:
  cl::Buffer copy_of(const Vector& numbers) const {
    return CL_CHECK(cl::Buffer(context_, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, numbers.size() * sizeof(float),
                               const_cast<float*>(numbers.data())));  // only read from
  }

  cl::Context context_;
  cl::CommandQueue queue_;
  cl::Kernel kernel_;
  std::size_t count_;
  cl::Buffer a_, b_, c_;
};
