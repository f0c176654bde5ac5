/// What an OpenCL device says about itself.
#pragma once

#include <string>
#include <vector>

#include "cookbook/opencl.hpp"

struct DeviceFacts {
  std::string name;
  cl_device_type type;
  cl_uint clock_mhz, compute_units;
  cl_ulong local_bytes, constant_bytes, global_bytes, buffer_bytes;  ///< the last one: of the largest single buffer
  std::size_t group_size;                                            ///< work-items in the largest work-group
  cl_device_local_mem_type local_type;                               ///< CL_LOCAL, or CL_GLOBAL: ordinary memory
  cl_bool host_unified;                                              ///< whether host and device share their memory
};

inline DeviceFacts facts_of(const cl::Device& device) {
  return {.name = CL_CHECK(device.getInfo<CL_DEVICE_NAME>()),
          .type = CL_CHECK(device.getInfo<CL_DEVICE_TYPE>()),
          .clock_mhz = CL_CHECK(device.getInfo<CL_DEVICE_MAX_CLOCK_FREQUENCY>()),
          .compute_units = CL_CHECK(device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>()),
          .local_bytes = CL_CHECK(device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>()),
          .constant_bytes = CL_CHECK(device.getInfo<CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE>()),
          .global_bytes = CL_CHECK(device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>()),
          .buffer_bytes = CL_CHECK(device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>()),
          .group_size = CL_CHECK(device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>()),
          .local_type = CL_CHECK(device.getInfo<CL_DEVICE_LOCAL_MEM_TYPE>()),
          .host_unified = CL_CHECK(device.getInfo<CL_DEVICE_HOST_UNIFIED_MEMORY>())};
}

/// A number of bytes in GB, MB or KB (powers of 1024) without decimals, in the largest unit that gives at least 1.
inline std::string size_text(cl_ulong bytes) {
  const double kilobytes = static_cast<double>(bytes) / 1024;
  if (kilobytes >= 1024 * 1024) return fmt::format("{:.0f} GB", kilobytes / 1024 / 1024);
  if (kilobytes >= 1024) return fmt::format("{:.0f} MB", kilobytes / 1024);
  return fmt::format("{:.0f} KB", kilobytes);
}

/// The kind of a device. The type is a set of bits: a device can also be the default one of its platform. Custom
/// devices run no kernels of OpenCL C, and CL_DEVICE_TYPE_ALL leaves them out.
inline std::string type_text(cl_device_type type) {
  if (type & CL_DEVICE_TYPE_GPU) return "GPU";
  if (type & CL_DEVICE_TYPE_CPU) return "CPU";
  return type & CL_DEVICE_TYPE_ACCELERATOR ? "ACCELERATOR" : "CUSTOM";
}

/// A line of the report in two columns.
inline std::string line(const std::string& label, const std::string& value) {
  return fmt::format("{:<32}{}", label, value);
}

/// The report of one device, line by line.
inline std::vector<std::string> report(std::size_t number, const DeviceFacts& facts) {
  return {std::string(56, '-'),
          line(fmt::format("Device {} - Name:", number), facts.name),
          line("Device - Type:", type_text(facts.type)),
          line("Device - Max Clock Speed:", fmt::format("{} MHz", facts.clock_mhz)),
          line("Device - Compute Units:", std::to_string(facts.compute_units)),
          line("Device - Local Memory:", size_text(facts.local_bytes)),
          line("Device - Local Memory Is:", facts.local_type == CL_LOCAL ? "on chip" : "global memory"),
          line("Device - Constant Memory:", size_text(facts.constant_bytes)),
          line("Device - Global Memory:", size_text(facts.global_bytes)),
          line("Device - Shares Host Memory:", facts.host_unified ? "yes" : "no"),
          line("Device - Max Buffer Size:", size_text(facts.buffer_bytes)),
          line("Device - Max Work Group Size:", std::to_string(facts.group_size))};
}
