/// A stream that waits for its work at the end of its scope, an event, and host memory that copies of a stream can use.
#pragma once

#include <cstddef>

#include "cookbook/cuda.hpp"

/// A queue of the device: what is put into it runs in this order, while the host goes on.
class Stream {
 public:
  Stream() { CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }

  /// Waits until all work of the stream is done, also when an exception leaves the scope.
  ~Stream() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }

  void synchronize() { CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A mark in a stream, for which other streams and the host can wait.
class Event {
 public:
  Event() { CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Page-locked memory of the host, which the operating system does not move: the device copies it by itself.
template <typename T>
class PinnedArray {
 public:
  explicit PinnedArray(std::size_t size) : size_(size) { CUDA_CHECK(cudaMallocHost(&data_, size * sizeof(T))); }
  ~PinnedArray() { cudaFreeHost(data_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;

  T* data() { return data_; }
  std::size_t size() const { return size_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};
