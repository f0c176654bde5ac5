// Pitfall: the host waits for the first device before it starts the second
//
// The result of the first part is fetched by a read that blocks. Only when it returns does the host start the second
// part, so at any time one of the two devices is idle. The state of the first kernel shows it: it is complete before
// the second one is queued.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_two_devices/opencl_two_devices_in_turn.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_two_devices_in_turn
// Run:     opencl_two_devices_in_turn
// Symptom: exit 1, prints "the second part was queued when the first was complete"

#include <algorithm>

#include "two_devices.hpp"

namespace {

constexpr std::size_t elements = 100'000, half = elements / 2;

struct Part {
  explicit Part(const cl::Device& device)
      : context(CL_CHECK(cl::Context(device))),
        queue(CL_CHECK(cl::CommandQueue(context, device))),
        program(opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "iterate.cl")))),
        kernel(CL_CHECK(cl::Kernel(program, "iterate"))),
        buffer(CL_CHECK(cl::Buffer(context, CL_MEM_WRITE_ONLY, half * sizeof(float)))),
        steps((CL_CHECK(device.getInfo<CL_DEVICE_TYPE>()) & CL_DEVICE_TYPE_GPU) != 0 ? 10'000'000 : 1'000) {}

  cl::Context context;
  cl::CommandQueue queue;
  cl::Program program;
  cl::Kernel kernel;
  cl::Buffer buffer;
  cl_int steps;  // for work of milliseconds or more
};

/// Starts to compute one half of the elements; does not wait.
cl::Event start(Part& part, std::size_t first) {
  CL_CHECK(part.kernel.setArg(0, part.buffer));
  CL_CHECK(part.kernel.setArg(1, 1.0F / elements));
  CL_CHECK(part.kernel.setArg(2, part.steps));
  CL_CHECK(part.kernel.setArg(3, static_cast<cl_ulong>(first)));
  cl::Event kernel_done;
  CL_CHECK(part.queue.enqueueNDRangeKernel(part.kernel, cl::NullRange, cl::NDRange(half), cl::NullRange, nullptr,
                                           &kernel_done));
  CL_CHECK(part.queue.flush());
  return kernel_done;
}

/// Waits until they are computed, and copies them to `to`.
void fetch(Part& part, float* to) {
  CL_CHECK(part.queue.enqueueReadBuffer(part.buffer, CL_TRUE, 0, half * sizeof(float), to));
}

}  // namespace

int main() {
  const std::vector<cl::Device> devices = opencl::devices();
  if (devices.empty()) return opencl::without_device();
  const auto [device_a, device_b] = two_devices(devices.front(), devices.back());
  Part first(device_a), second(device_b);
  std::vector<float> values(elements, -1);

  const cl::Event of_first = start(first, 0);
  // wrong: the second part has not been started
  fetch(first, values.data());
  const bool complete = CL_CHECK(of_first.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>()) == CL_COMPLETE;
  start(second, half);
  fetch(second, values.data() + half);
  if (complete) {
    cookbook::println("the second part was queued when the first was complete");
    return 1;
  }
  const auto missing = std::count(values.begin(), values.end(), -1.0F);
  cookbook::println("both devices were at work at once; {} of {} elements are missing", missing, elements);
  return missing > 0 ? 1 : 0;
}
