/// What an OpenCL device says about itself.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/opencl.hpp"

struct DeviceFacts {
  std::ptrdiff_t number;  ///< its place in opencl::devices(), GPUs first
  std::string name, platform, version;
  cl_device_type type;
  cl_uint compute_units;
  cl_device_local_mem_type local_type;  ///< CL_LOCAL, CL_GLOBAL (ordinary memory), or CL_NONE
  cl_bool host_unified;                 ///< whether host and device have the same memory
  cl_ulong buffer_bytes;                ///< of the largest single buffer
  cl_ulong global_bytes, local_bytes, constant_bytes;
  std::size_t group_size;  ///< work-items in the largest work-group
  cl_uint clock_mhz;
  cl_bool has_compiler;
};

/// Two objects stand for the same device if they have the same handle, which operator() gives.
inline std::ptrdiff_t number_of(const cl::Device& device) {
  const std::vector<cl::Device> all = opencl::devices();
  return std::ranges::find(all, device(), [](const cl::Device& each) { return each(); }) - all.begin();
}

inline DeviceFacts facts_of(const cl::Platform& platform, const cl::Device& device) {
  return {.number = number_of(device),
          .name = CL_CHECK(device.getInfo<CL_DEVICE_NAME>()),
          .platform = CL_CHECK(platform.getInfo<CL_PLATFORM_NAME>()),
          .version = CL_CHECK(device.getInfo<CL_DEVICE_VERSION>()),
          .type = CL_CHECK(device.getInfo<CL_DEVICE_TYPE>()),
          .compute_units = CL_CHECK(device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>()),
          .local_type = CL_CHECK(device.getInfo<CL_DEVICE_LOCAL_MEM_TYPE>()),
          .host_unified = CL_CHECK(device.getInfo<CL_DEVICE_HOST_UNIFIED_MEMORY>()),
          .buffer_bytes = CL_CHECK(device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>()),
          .global_bytes = CL_CHECK(device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>()),
          .local_bytes = CL_CHECK(device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>()),
          .constant_bytes = CL_CHECK(device.getInfo<CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE>()),
          .group_size = CL_CHECK(device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>()),
          .clock_mhz = CL_CHECK(device.getInfo<CL_DEVICE_MAX_CLOCK_FREQUENCY>()),
          .has_compiler = CL_CHECK(device.getInfo<CL_DEVICE_COMPILER_AVAILABLE>())};
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

inline std::string local_type_text(cl_device_local_mem_type type) {
  if (type == CL_LOCAL) return "on chip";
  return type == CL_GLOBAL ? "in global memory" : "none";
}

/// "OpenCL 3.0 CUDA" becomes "OpenCL 3.0": what follows the second blank is the driver's own.
inline std::string version_text(const std::string& version) {
  return version.substr(0, version.find(' ', std::string("OpenCL ").size()));
}

/// Label and value of each property.
inline std::vector<std::pair<std::string, std::string>> report(const DeviceFacts& facts) {
  return {{"device", std::to_string(facts.number)},
          {"name", facts.name},
          {"platform", facts.platform},
          {"version", version_text(facts.version)},
          {"type", type_text(facts.type)},
          {"compute units", std::to_string(facts.compute_units)},
          {"local memory is", local_type_text(facts.local_type)},
          {"host has same memory", facts.host_unified ? "yes" : "no"},
          {"largest buffer", size_text(facts.buffer_bytes)},
          {"global memory", size_text(facts.global_bytes)},
          {"local memory", size_text(facts.local_bytes)},
          {"constant memory", size_text(facts.constant_bytes)},
          {"largest work-group", std::to_string(facts.group_size)},
          {"highest clock", fmt::format("{} MHz", facts.clock_mhz)},
          {"compiles kernels", facts.has_compiler ? "yes" : "no"}};
}

/// A line per property, with a column per device.
inline std::vector<std::string> side_by_side(const std::vector<DeviceFacts>& devices) {
  std::vector<std::string> lines;
  for (const DeviceFacts& facts : devices) {
    const auto rows = report(facts);
    lines.resize(rows.size());
    std::size_t width = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (lines[i].empty()) lines[i] = rows[i].first;
      width = std::max(width, lines[i].size());
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
      lines[i] = fmt::format("{:<{}}{}", lines[i], width + 3, rows[i].second);
  }
  return lines;
}
