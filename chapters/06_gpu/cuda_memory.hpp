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

#ifdef __CUDACC__  // only nvcc knows how to launch a kernel; ordinary C++ leaves these out

/// The kernel of fill_random(): one thread per number.
template <typename T>
__global__ void set_random(T* numbers, std::size_t count, std::uint32_t seed) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = random_number(seed, static_cast<std::uint32_t>(i));
}

/// Makes number i of the array random_number(seed, i). Queued on the default stream.
template <typename T>
void fill_random(DeviceArray<T>& numbers, std::uint32_t seed) {
  const std::size_t count = numbers.size();
  set_random<<<static_cast<unsigned>((count + 255) / 256), 256>>>(numbers.data(), count, seed);
  CUDA_CHECK(cudaGetLastError());
}

#endif

}  // namespace gpu
