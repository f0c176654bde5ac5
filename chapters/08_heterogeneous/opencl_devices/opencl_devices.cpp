// Platforms and devices
//
// Lists the OpenCL devices of this machine, each below its platform, which is an installed driver: GPUs, and the
// processor itself if there is a driver for it. Each device tells its limits, which a kernel has to respect.
// Every device gets a number; the option --device of the other recipes takes this number.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_devices/opencl_devices.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_devices
// Run:     opencl_devices [--device N]

#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "device_report.hpp"

namespace {

void print_platform(const cl::Platform& platform) {
  cookbook::println("{}", std::string(60, '='));
  cookbook::println("Platform - Name: {}", CL_CHECK(platform.getInfo<CL_PLATFORM_NAME>()));
  cookbook::println("Platform - Vendor: {}", CL_CHECK(platform.getInfo<CL_PLATFORM_VENDOR>()));
  cookbook::println("Platform - Version: {}", CL_CHECK(platform.getInfo<CL_PLATFORM_VERSION>()));
  cookbook::println("Platform - Profile: {}", CL_CHECK(platform.getInfo<CL_PLATFORM_PROFILE>()));
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

  const std::vector<cl::Device> devices = opencl::devices();  // of all platforms, GPUs first
  if (devices.empty()) return opencl::without_device();
  if (only >= 0 && !opencl::chosen_device(only)) return 2;  // ends the program itself if there is no such number

  std::size_t reported = 0, usable = 0;
  cl::Platform printed;  // the platform of the device before
  for (std::size_t number = 0; number < devices.size(); ++number) {
    if (only >= 0 && number != static_cast<std::size_t>(only)) continue;
    ++reported;
    usable += can_be_used(devices[number]);
    const cl::Platform platform(CL_CHECK(devices[number].getInfo<CL_DEVICE_PLATFORM>()));
    if (platform() != printed()) print_platform(platform);  // (): the handle of the C interface, a pointer
    printed = platform;
    for (const std::string& line : report(number, facts_of(devices[number]))) cookbook::println("    {}", line);
  }
  cookbook::Checks checks;
  checks.equal("devices that are available and have a compiler for kernels", usable, reported);
  return checks.exit_code();
}
