/// An array in a device's memory that frees itself, and random numbers that host and device work out alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda_check.hpp"

namespace gpu {

/// `size` values of type T in the device's memory.
template <typename T>
class DeviceArray {
 public:
  /// Leaves the values as they are found: nothing may be read before it is written.
  explicit DeviceArray(std::size_t size) : size_(size) { CUDA_CHECK(cudaMalloc(&data_, size * sizeof(T))); }

  explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) {
    CUDA_CHECK(cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }

  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }

  /// Sets every bit, which makes a floating-point number a NaN and an integer -1: what a kernel fails to write shows.
  void poison() { CUDA_CHECK(cudaMemset(data_, 0xFF, size_ * sizeof(T))); }

  void zero() { CUDA_CHECK(cudaMemset(data_, 0, size_ * sizeof(T))); }

  /// Waits for the kernels started before, and copies.
  std::vector<T> to_host() const {
    std::vector<T> host(size_);
    CUDA_CHECK(cudaMemcpy(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

/// The random number with this index of the sequence `seed`, at least -1 and below 1. It is a hash of both, so that
/// thread i makes number i without the i numbers before it, and the host can work out any one of them again.
__host__ __device__ inline float random_number(std::uint32_t seed, std::uint32_t index) {
  std::uint32_t x = index + seed * 0x9E3779B9U;
  x = (x ^ (x >> 16)) * 0x7FEB352DU;
  x = (x ^ (x >> 15)) * 0x846CA68BU;
  x ^= x >> 16;
  return static_cast<float>(x >> 8) * 0x1p-23F - 1;
}

}  // namespace gpu
