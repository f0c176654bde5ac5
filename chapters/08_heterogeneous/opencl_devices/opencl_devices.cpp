// Platforms and devices
//
// Lists the OpenCL devices of this machine, each below its platform, which is an installed driver: GPUs, and the
// processor itself if there is a driver for it. Each device tells its limits, which a kernel has to respect.
// Every device gets a number; the option --device of the other recipes takes this number.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_devices/opencl_devices.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_devices
// Run:     opencl_devices [--device N]

#include <algorithm>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "device_report.hpp"

namespace {

void print_platform(const cl::Platform& platform) {
  cookbook::println("{}", std::string(60, '='));
  cookbook::println("{}", line("Platform - Name:", CL_CHECK(platform.getInfo<CL_PLATFORM_NAME>())));
  cookbook::println("{}", line("Platform - Vendor:", CL_CHECK(platform.getInfo<CL_PLATFORM_VENDOR>())));
  cookbook::println("{}", line("Platform - Version:", CL_CHECK(platform.getInfo<CL_PLATFORM_VERSION>())));
  cookbook::println("{}", line("Platform - Profile:", CL_CHECK(platform.getInfo<CL_PLATFORM_PROFILE>())));
}

void print_device(const cl::Device& device) {
  std::size_t number = 0;  // its place among all devices, GPUs first; (): the handle of the C interface, a pointer
  for (const cl::Device& each : opencl::devices()) {
    if (each() == device()) break;
    ++number;
  }
  for (const std::string& text : report(number, facts_of(device))) cookbook::println("    {}", text);
}

void print_all() {
  std::vector<cl::Platform> platforms;
  CL_CHECK(cl::Platform::get(&platforms));
  for (const cl::Platform& platform : platforms) {
    print_platform(platform);
    std::vector<cl::Device> devices;
    CL_CHECK(platform.getDevices(CL_DEVICE_TYPE_ALL, &devices));
    for (const cl::Device& device : devices) print_device(device);
  }
}

bool can_be_used(const cl::Device& device) {
  return CL_CHECK(device.getInfo<CL_DEVICE_AVAILABLE>()) && CL_CHECK(device.getInfo<CL_DEVICE_COMPILER_AVAILABLE>());
}

}  // namespace

int main(int argc, char** argv) {
  int only = -1;
  cookbook::Options options("List the platforms and devices of OpenCL");
  options.add("device", only, "number of the device to report, -1 for all", -1, 63);
  options.parse(argc, argv);

  std::vector<cl::Device> reported = opencl::devices();
  if (reported.empty()) return opencl::without_device();
  if (only < 0) {
    print_all();
  } else {
    reported = {*opencl::chosen_device(only)};  // ends the program with a message if there is no such number
    print_platform(cl::Platform(CL_CHECK(reported[0].getInfo<CL_DEVICE_PLATFORM>())));
    print_device(reported[0]);
  }
  cookbook::Checks checks;
  checks.equal(fmt::format("devices that are available and have a compiler for kernels, of {}", reported.size()),
               std::ranges::count_if(reported, can_be_used), std::ssize(reported));
  return checks.exit_code();
}
