/// OpenCL: its C++ interface, checked calls, devices, kernels from files, and time.
#pragma once

// Kernels and calls of version 1.2, which every driver has. A call that fails throws cl::Error.
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/print.hpp"

/// Stands around every call of OpenCL and has the call's value. If the call fails, it names the call, the error and the
/// line on standard error and ends the program with exit code 3.
#define CL_CHECK(...) ::opencl::check([&]() -> decltype(auto) { return __VA_ARGS__; }, __FILE__, __LINE__)

namespace opencl {

/// The exit code of a recipe that found no device.
constexpr int skipped = 77;

/// The name of an error code, as far as the recipes have met it.
inline std::string error_text(cl_int error) {
  switch (error) {
#define NAME_OF(code) \
  case code:          \
    return #code
    NAME_OF(CL_DEVICE_NOT_AVAILABLE);
    NAME_OF(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    NAME_OF(CL_OUT_OF_RESOURCES);
    NAME_OF(CL_OUT_OF_HOST_MEMORY);
    NAME_OF(CL_BUILD_PROGRAM_FAILURE);
    NAME_OF(CL_INVALID_VALUE);
    NAME_OF(CL_INVALID_KERNEL_NAME);
    NAME_OF(CL_INVALID_ARG_SIZE);
    NAME_OF(CL_INVALID_KERNEL_ARGS);
    NAME_OF(CL_INVALID_WORK_DIMENSION);
    NAME_OF(CL_INVALID_WORK_GROUP_SIZE);
    NAME_OF(CL_INVALID_WORK_ITEM_SIZE);
    NAME_OF(CL_INVALID_BUFFER_SIZE);
#undef NAME_OF
    default:
      return fmt::format("error {}", error);
  }
}

/// Ends the program with exit code 3.
[[noreturn]] inline void exit_with_error(const cl::Error& error, std::string_view file, int line) {
  cookbook::print_error(
      fmt::format("{}: {} ({}:{})", error.what(), error_text(error.err()), file.substr(file.rfind('/') + 1), line));
  std::exit(3);
}

template <typename Call>
decltype(auto) check(Call call, std::string_view file, int line) {
  try {
    return call();
  } catch (const cl::Error& error) {
    exit_with_error(error, file, line);
  }
}

/// Platform and device in one line, such as "NVIDIA CUDA, NVIDIA H200".
inline std::string name_of(const cl::Device& device) {
  const cl::Platform platform(CL_CHECK(device.getInfo<CL_DEVICE_PLATFORM>()));
  return fmt::format("{}, {}", CL_CHECK(platform.getInfo<CL_PLATFORM_NAME>()),
                     CL_CHECK(device.getInfo<CL_DEVICE_NAME>()));
}

/// The devices of all platforms (a platform is an installed driver), GPUs first; none if there is none.
inline std::vector<cl::Device> devices() {
  std::vector<cl::Platform> platforms;
  try {
    cl::Platform::get(&platforms);
  } catch (const cl::Error& error) {
    if (error.err() != CL_PLATFORM_NOT_FOUND_KHR) exit_with_error(error, __FILE__, __LINE__);
  }
  std::vector<cl::Device> found;
  for (const bool gpu_wanted : {true, false}) {
    for (const cl::Platform& platform : platforms) {
      std::vector<cl::Device> some;
      try {
        platform.getDevices(CL_DEVICE_TYPE_ALL, &some);
      } catch (const cl::Error& error) {
        if (error.err() != CL_DEVICE_NOT_FOUND) exit_with_error(error, __FILE__, __LINE__);
      }
      for (const cl::Device& device : some) {
        const bool gpu = (CL_CHECK(device.getInfo<CL_DEVICE_TYPE>()) & CL_DEVICE_TYPE_GPU) != 0;
        if (gpu == gpu_wanted) found.push_back(device);
      }
    }
  }
  return found;
}

/// The device that the option `--device N`, or another one, names, as devices() numbers them; none if the machine has
/// no device. Ends the program with exit code 2 if there are devices, but not so many.
inline std::optional<cl::Device> chosen_device(std::size_t number, std::string_view option = "--device") {
  const std::vector<cl::Device> found = devices();
  if (found.empty()) return std::nullopt;
  if (number >= found.size()) {
    cookbook::print_error(fmt::format("{} {}: there are {}, numbered from 0", option, number, found.size()));
    std::exit(2);
  }
  return found[number];
}

/// The exit code of a program without a device, skipped, after a line that says why.
inline int without_device() {
  cookbook::print_error("skipped, no OpenCL device: install a driver, such as pocl-opencl-icd for the processor");
  return skipped;
}

/// The same for a program that has made checks on the host: 1 if one of them has failed.
inline int without_device(const cookbook::Checks& checks) {
  return checks.passed() ? without_device() : checks.exit_code();
}

/// The kernel file of that name in the folder of `source`, for which a program gives its own __FILE__. So kernels are
/// found wherever the program is started, as long as the sources lie where it was compiled.
inline std::string beside(std::string_view source, std::string_view name) {
  return std::filesystem::path(source).replace_filename(name).string();
}

/// The text of a kernel file. Ends the program with exit code 2 if it cannot be read.
inline std::string read_kernels(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (text.view().empty()) {
    cookbook::print_error(fmt::format("cannot read kernels from {}", path));
    std::exit(2);
  }
  return text.str();
}

/// Compiles `source` for the context's devices. If it has a mistake, shows the compiler's log and ends the program with
/// exit code 2; if something else fails, such as a compiler that is not there, names the error and ends it with 3.
inline cl::Program build(const cl::Context& context, const std::string& source, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
  cl::Program program = CL_CHECK(cl::Program(context, source));
  try {
    program.build("-cl-std=CL1.2");
  } catch (const cl::BuildError& error) {
    if (error.err() != CL_BUILD_PROGRAM_FAILURE) exit_with_error(error, file, line);
    for (const auto& [device, log] : error.getBuildLog()) {
      cookbook::print_error(fmt::format("the kernels do not compile for {}:\n{}", name_of(device), log));
    }
    std::exit(2);
  }
  return program;
}

/// A command queue whose commands note when they begin and end.
inline cl::CommandQueue profiling_queue(const cl::Context& context, const cl::Device& device) {
  return CL_CHECK(cl::CommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE));
}

/// Waits for the command of `last`, and returns how many seconds it ended after the command of `first` began, on the
/// device's clock. The queue must have profiling enabled.
inline double seconds_between(const cl::Event& first, const cl::Event& last) {
  CL_CHECK(last.wait());
  const cl_ulong begin = CL_CHECK(first.getProfilingInfo<CL_PROFILING_COMMAND_START>());
  const cl_ulong end = CL_CHECK(last.getProfilingInfo<CL_PROFILING_COMMAND_END>());
  return static_cast<double>(end - begin) * 1e-9;
}

/// Waits for the command of `event`, and returns how long the device took for it, in seconds. Its queue must have
/// profiling enabled. Time in the queue is not part of it.
inline double seconds_of(const cl::Event& event) { return seconds_between(event, event); }

/// The same for the commands from the first one to the last one of an ordinary queue.
inline double seconds_of(const std::pair<cl::Event, cl::Event>& first_and_last) {
  return seconds_between(first_and_last.first, first_and_last.second);
}

/// A row of a measurement whose `work()` queues one command and returns its event.
template <typename Work>
cookbook::Benchmark timed_row(std::string name, double items_per_run, Work work) {
  return {std::move(name), items_per_run, [work = std::move(work)]() mutable { return seconds_of(work()); }};
}

}  // namespace opencl
