// A kernel from an expression, measured
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/08_heterogeneous/opencl_elementwise/opencl_elementwise_bench.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_elementwise_bench
// Run:     opencl_elementwise_bench [--count N] [--rounds N] [--device N]

#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "elementwise.hpp"

int main(int argc, char** argv) {
  std::size_t count = std::size_t{1} << 28, device_number = 0;
  int rounds = 21;
  cookbook::Options options("How fast OpenCL kernels are that were made from an expression");
  options.add("count", count, "elements of each vector; rounded up to a multiple of 4", 4, std::size_t{1} << 30);
  options.add("rounds", rounds, "measured runs of each row", 1, 1000);
  options.add("device", device_number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  const std::optional<cl::Device> device = opencl::chosen_device(device_number);
  if (!device) return opencl::without_device();

  count = (count + 3) / 4 * 4;
  const double bytes = static_cast<double>(count) * sizeof(float);
  cookbook::require_memory(8 * bytes, fmt::format("--count {}", count));
  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = opencl::profiling_queue(context, *device);
  std::mt19937 engine(1);
  std::vector<float> host_x(count), host_y(count);
  for (float& number : host_x) number = static_cast<float>(engine()) / 4294967296.0F;
  for (float& number : host_y) number = static_cast<float>(engine()) / 4294967296.0F;
  const DeviceVector<float> x(queue, host_x), y(queue, host_y), t(queue, host_x), u(queue, host_x), c(queue, host_x);
  // The same memory as vectors of float4, four neighbouring floats that are loaded and stored as one.
  const DeviceVector<cl_float4> x4(queue, count / 4, x.buffer()), y4(queue, count / 4, y.buffer()),
      c4(queue, count / 4, c.buffer());

  const std::string operation = "c[i] = a * x[i] + b * y[i]";
  Elementwise one_each(queue, "one_each",
                       "float a, global const float* x, float b, global const float* y, global float* c", operation);
  Elementwise four_each(queue, "four_each",
                        "float a, global const float4* x, float b, global const float4* y, global float4* c",
                        operation);
  Elementwise times(queue, "times", "float a, global const float* x, global float* c", "c[i] = a * x[i]");
  Elementwise plus(queue, "plus", "global const float* x, global const float* y, global float* c",
                   "c[i] = x[i] + y[i]");

  const std::vector<cookbook::Benchmark> rows = {
      opencl::timed_row("enqueueCopyBuffer", 2 * bytes,
                        [&] {
                          cl::Event event;
                          CL_CHECK(queue.enqueueCopyBuffer(x.buffer(), c.buffer(), 0, 0, count * sizeof(float), nullptr,
                                                           &event));
                          return event;
                        }),
      {"three kernels, an operation each", 3 * bytes,
       [&] {
         const cl::Event first = times(2.0F, x, t), second = times(5.0F, y, u), third = plus(t, u, c);
         return opencl::seconds_of(first) + opencl::seconds_of(second) + opencl::seconds_of(third);
       }},
      opencl::timed_row("one float per work-item", 3 * bytes, [&] { return one_each(2.0F, x, 5.0F, y, c); }),
      opencl::timed_row("four floats per work-item", 3 * bytes, [&] { return four_each(2.0F, x4, 5.0F, y4, c4); })};

  cookbook::Checks checks;
  for (std::size_t row = 1; row < rows.size(); ++row) {
    CL_CHECK(queue.enqueueFillBuffer(c.buffer(), NAN, 0, count * sizeof(float)));
    rows[row].run();
    const std::vector<float> result = c.to_host();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i)
      wrong += !(std::abs(result[i] - (2.0 * host_x[i] + 5.0 * host_y[i])) < 1e-6);
    checks.equal(fmt::format("wrong results: {}", rows[row].name), wrong, 0U);
  }
  cookbook::Figures figures(fmt::format("2x + 5y, {} floats", count), cookbook::rate("GB/s", 1e9),
                            opencl::name_of(*device));
  figures.percent_of("enqueueCopyBuffer", "copy");
  figures.measure(rows, rounds);
  figures.print(checks);
  return checks.exit_code();
}
