// Platforms and devices
//
// Lists the OpenCL devices of this machine side by side: GPUs, and the processor itself if there is a driver for it. A
// platform is an installed driver. Each device tells its properties and its limits, which a kernel has to respect.
// Every device gets a number; the option --device of the other recipes takes this number.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_devices/opencl_devices.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_devices
// Run:     opencl_devices

#include <algorithm>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "device_report.hpp"

namespace {

std::vector<DeviceFacts> find_devices() {
  std::vector<DeviceFacts> found;
  std::vector<cl::Platform> platforms;
  CL_CHECK(cl::Platform::get(&platforms));
  for (const cl::Platform& platform : platforms) {
    std::vector<cl::Device> devices;
    CL_CHECK(platform.getDevices(CL_DEVICE_TYPE_ALL, &devices));
    for (const cl::Device& device : devices) found.push_back(facts_of(platform, device));
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("List the devices of OpenCL");
  options.parse(argc, argv);
  if (opencl::devices().empty()) return opencl::without_device();

  const std::vector<DeviceFacts> found = find_devices();
  for (const std::string& line : side_by_side(found)) cookbook::println("{}", line);
  const auto too_large = [](const DeviceFacts& facts) { return facts.buffer_bytes > facts.global_bytes; };
  cookbook::Checks checks;
  checks.equal("devices with a largest buffer above their memory", std::ranges::count_if(found, too_large), 0);
  return checks.exit_code();
}
