/// Managed memory: an array with one address for host and device, whose pages the driver moves between them.
#pragma once

#include <cstddef>

#include "cookbook/cuda.hpp"

/// `size` values of type T in managed memory, which host and current device may both use.
template <typename T>
class ManagedArray {
 public:
  explicit ManagedArray(std::size_t size) : size_(size) { CUDA_CHECK(cudaMallocManaged(&data_, size * sizeof(T))); }
  ~ManagedArray() { cudaFree(data_); }
  ManagedArray(const ManagedArray&) = delete;
  ManagedArray& operator=(const ManagedArray&) = delete;

  T* data() { return data_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

/// Where pages can be: with the host or on the current device. CUDA 13 takes a cudaMemLocation for it, older toolkits
/// the number of the device.
#if CUDART_VERSION >= 13000
using Place = cudaMemLocation;
#else
using Place = int;
#endif

inline Place on_host() {
#if CUDART_VERSION >= 13000
  Place place{};
  place.type = cudaMemLocationTypeHost;
  return place;
#else
  return cudaCpuDeviceId;
#endif
}

inline Place on_device() {
  int current = 0;
  CUDA_CHECK(cudaGetDevice(&current));
#if CUDART_VERSION >= 13000
  Place place{};
  place.type = cudaMemLocationTypeDevice;
  place.id = current;
  return place;
#else
  return current;
#endif
}

/// Queues on the stream that the pages move to `place`, before anybody touches them there.
inline void prefetch(const void* data, std::size_t bytes, Place place, cudaStream_t stream = nullptr) {
#if CUDART_VERSION >= 13000
  CUDA_CHECK(cudaMemPrefetchAsync(data, bytes, place, 0, stream));
#else
  CUDA_CHECK(cudaMemPrefetchAsync(data, bytes, place, stream));
#endif
}

/// Whether host and device may use managed memory at the same time, and its pages move when they are touched. If not
/// (Windows, Jetson), says so in one line on standard error.
inline bool pages_move() {
  int device = 0, concurrent = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device));
  if (concurrent == 0) cookbook::print_error("skipped: the device has no concurrentManagedAccess");
  return concurrent != 0;
}
