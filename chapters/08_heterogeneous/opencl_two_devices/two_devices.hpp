/// Two devices for one job, also on a machine that has only one.
#pragma once

#include <utility>

#include "opencl_check.hpp"

/// The two devices with these numbers. If both are the same, it is divided into two sub-devices; ends the program with
/// exit code 77 and a reason if it cannot be.
inline std::pair<cl::Device, cl::Device> two_devices(const cl::Device& first, const cl::Device& second) {
  if (first() != second()) return {first, second};  // (): the handle of the C interface
  const cl_uint units = CHECK_CL(first.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>());
  const cl_uint limit = CHECK_CL(first.getInfo<CL_DEVICE_PARTITION_MAX_SUB_DEVICES>());
  if (units < 2 || limit < 2) {
    cookbook::print_error(
        fmt::format("skipped, {} cannot be divided, and there is no second device", opencl::name_of(first)));
    std::exit(opencl::skipped);
  }
  // A list of the compute units of each sub-device.
  const cl_device_partition_property counts[] = {
      CL_DEVICE_PARTITION_BY_COUNTS, static_cast<cl_device_partition_property>(units / 2),
      static_cast<cl_device_partition_property>(units - units / 2), CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
  std::vector<cl::Device> parts;
  CHECK_CL(const_cast<cl::Device&>(first).createSubDevices(counts, &parts));  // not const, but changes nothing
  return {parts.at(0), parts.at(1)};
}
