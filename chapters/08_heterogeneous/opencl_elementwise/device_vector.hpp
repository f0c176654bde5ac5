/// A vector in a device's memory.
#pragma once

#include <utility>
#include <vector>

#include "cookbook/opencl.hpp"

template <typename T>
class DeviceVector {
 public:
  /// Copies `numbers` into a buffer of the queue's context; there must be at least one.
  DeviceVector(cl::CommandQueue queue, const std::vector<T>& numbers)
      : queue_(std::move(queue)),
        size_(numbers.size()),
        buffer_(
            CL_CHECK(cl::Buffer(CL_CHECK(queue_.getInfo<CL_QUEUE_CONTEXT>()), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                size_ * sizeof(T), const_cast<T*>(numbers.data())))) {}  // only read from

  /// The first `size` elements of a buffer that exists. The measurement needs this, to see floats as float4.
  DeviceVector(cl::CommandQueue queue, std::size_t size, cl::Buffer buffer)
      : queue_(std::move(queue)), size_(size), buffer_(std::move(buffer)) {}

  std::size_t size() const { return size_; }
  const cl::Buffer& buffer() const { return buffer_; }

  /// Waits until the queue has done what it was given before, and copies the vector to the host.
  std::vector<T> to_host() const {
    std::vector<T> numbers(size_);
    CL_CHECK(queue_.enqueueReadBuffer(buffer_, CL_TRUE, 0, size_ * sizeof(T), numbers.data()));
    return numbers;
  }

 private:
  cl::CommandQueue queue_;
  std::size_t size_;
  cl::Buffer buffer_;
};
