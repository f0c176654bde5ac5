/// Two devices for one job, also on a machine that has only one.
#pragma once

#include <algorithm>
#include <utility>

#include "cookbook/opencl.hpp"

/// The two devices with these numbers. If both are the same, it is divided into two sub-devices: the first gets half of
/// its compute units, rounded down, the second the others. Ends the program with exit code 77 and a reason if the
/// device cannot be divided.
inline std::pair<cl::Device, cl::Device> two_devices(const cl::Device& first, const cl::Device& second) {
  if (first() != second()) return {first, second};  // (): the handle of the C interface
  const cl_uint units = CL_CHECK(first.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>());
  const cl_uint limit = CL_CHECK(first.getInfo<CL_DEVICE_PARTITION_MAX_SUB_DEVICES>());
  const auto ways = CL_CHECK(first.getInfo<CL_DEVICE_PARTITION_PROPERTIES>());  // in which it can be divided
  if (units < 2 || limit < 2 || std::find(ways.begin(), ways.end(), CL_DEVICE_PARTITION_BY_COUNTS) == ways.end()) {
    cookbook::print_error(
        fmt::format("skipped, {} cannot be divided, and there is no second device", opencl::name_of(first)));
    std::exit(opencl::skipped);
  }
  // A list of the compute units of each sub-device.
  const cl_device_partition_property counts[] = {
      CL_DEVICE_PARTITION_BY_COUNTS, static_cast<cl_device_partition_property>(units / 2),
      static_cast<cl_device_partition_property>(units - units / 2), CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
  std::vector<cl::Device> parts;
  CL_CHECK(const_cast<cl::Device&>(first).createSubDevices(counts, &parts));  // not const, but changes nothing
  return {parts.at(0), parts.at(1)};
}
