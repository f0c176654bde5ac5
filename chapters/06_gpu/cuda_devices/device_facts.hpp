/// What a device says about itself, and what follows from it.
#pragma once

#include <string>
#include <vector>

#include "cookbook/cuda.hpp"

struct DeviceFacts {
  std::string name;
  int major, minor;                                  ///< compute capability
  std::size_t memory_bytes;                          ///< global memory
  int multiprocessors, threads_per_multiprocessor;   ///< threads that it can hold at once
  int clock_khz, memory_clock_khz, memory_bus_bits;  ///< the clocks at their highest
};

inline DeviceFacts facts_of(int device) {
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
    return value;
  };
  return {.name = properties.name,
          .major = properties.major,
          .minor = properties.minor,
          .memory_bytes = properties.totalGlobalMem,
          .multiprocessors = properties.multiProcessorCount,
          .threads_per_multiprocessor = properties.maxThreadsPerMultiProcessor,
          .clock_khz = attribute(cudaDevAttrClockRate),
          .memory_clock_khz = attribute(cudaDevAttrMemoryClockRate),
          .memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth)};
}

/// How many threads' float instructions a multiprocessor starts per clock: "Throughput of Native Arithmetic
/// Instructions" in the CUDA C++ Programming Guide, for compute capability 5.0 to 12.x.
inline int cores_per_multiprocessor(int major, int minor) {
  const bool has_64 = (major == 6 && minor == 0) || major == 7 || (major == 8 && minor == 0);
  return has_64 ? 64 : 128;
}

/// Float operations per second if every core makes a multiplication and an addition in one instruction per clock.
inline double peak_arithmetic(const DeviceFacts& facts) {
  const double cores = facts.multiprocessors * cores_per_multiprocessor(facts.major, facts.minor);
  return cores * 2 * facts.clock_khz * 1e3;
}

/// Bytes per second between global memory and the chip: every wire of the bus passes two bits per clock.
inline double peak_bandwidth(const DeviceFacts& facts) {
  return facts.memory_bus_bits / 8.0 * 2 * facts.memory_clock_khz * 1e3;
}

/// The report of one device, line by line.
inline std::vector<std::string> report(int number, const DeviceFacts& facts) {
  return {fmt::format("Device #{}: {}", number, facts.name),
          fmt::format("Compute Capability: {}.{}", facts.major, facts.minor),
          fmt::format("Total Memory: {} KB", facts.memory_bytes / 1024),
          fmt::format("Threads: {} multiprocessors x {} = {} held at once", facts.multiprocessors,
                      facts.threads_per_multiprocessor, facts.multiprocessors * facts.threads_per_multiprocessor),
          fmt::format("Arithmetic: {} multiprocessors x {} cores x 2 x {} MHz = {:.1f} TFLOP/s", facts.multiprocessors,
                      cores_per_multiprocessor(facts.major, facts.minor), facts.clock_khz / 1000,
                      peak_arithmetic(facts) / 1e12),
          fmt::format("Bandwidth: {} bits / 8 x 2 x {} MHz = {:.0f} GB/s", facts.memory_bus_bits,
                      facts.memory_clock_khz / 1000, peak_bandwidth(facts) / 1e9)};
}
