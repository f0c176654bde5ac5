/// The current device's default memory pool, from which cudaMallocAsync() takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cookbook/cuda.hpp"

inline cudaMemPool_t default_pool() {
  int device = 0;
  cudaMemPool_t pool = nullptr;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
  return pool;
}

/// Bytes of the device's memory that the pool has at the moment, used or not.
inline std::uint64_t reserved_by_pool() {
  std::uint64_t bytes = 0;
  CUDA_CHECK(cudaMemPoolGetAttribute(default_pool(), cudaMemPoolAttrReservedMemCurrent, &bytes));
  return bytes;
}

/// The release threshold: when the host waits for a stream, an event or the device, the pool tries to give back what
/// nobody uses, until it holds no more than so many bytes. It is 0 at first.
inline void keep_in_pool(std::uint64_t bytes) {
  CUDA_CHECK(cudaMemPoolSetAttribute(default_pool(), cudaMemPoolAttrReleaseThreshold, &bytes));
}

/// Whether the device has pools. If not, says so in one line on standard error.
inline bool pools_supported() {
  int device = 0, supported = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device));
  if (supported == 0) cookbook::print_error("skipped: the device has no memory pools");
  return supported != 0;
}

/// Keeps its stream busy for so many clock cycles of the device.
__global__ void spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}
