// Vector sum in OpenCL, measured
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/08_heterogeneous/opencl_vector_sum/opencl_vector_sum_bench.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_vector_sum_bench
// Run:     opencl_vector_sum_bench [--count N] [--rounds N] [--device N]

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"

int main(int argc, char** argv) {
  std::size_t count = std::size_t{1} << 28, device_number = 0;
  int rounds = 21;
  cookbook::Options options("How fast OpenCL adds vectors");
  options.add("count", count, "elements of each vector; rounded up to a multiple of 4", 4, std::size_t{1} << 30);
  options.add("rounds", rounds, "measured runs of each row", 1, 1000);
  options.add("device", device_number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  const std::optional<cl::Device> device = opencl::chosen_device(device_number);
  if (!device) return opencl::without_device();

  count = (count + 3) / 4 * 4;
  const std::size_t bytes = count * sizeof(cl_int);
  cookbook::require_memory(6.0 * static_cast<double>(bytes), fmt::format("--count {}", count));
  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = opencl::profiling_queue(context, *device);
  const cl::Program program =
      opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "vector_sum.cl")) +
                                 opencl::read_kernels(opencl::beside(__FILE__, "vector_sum_bench.cl")));

  const cl::Buffer a = CL_CHECK(cl::Buffer(context, CL_MEM_READ_ONLY, bytes));
  const cl::Buffer b = CL_CHECK(cl::Buffer(context, CL_MEM_READ_ONLY, bytes));
  const cl::Buffer sum = CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE, bytes));
  std::vector<cl_int> host_a(count), host_b(count), result(count);
  std::mt19937 engine(1);
  for (cl_int& number : host_a) number = static_cast<cl_int>(engine() >> 2);  // so that no sum overflows
  for (cl_int& number : host_b) number = static_cast<cl_int>(engine() >> 2);
  CL_CHECK(queue.enqueueWriteBuffer(a, CL_TRUE, 0, bytes, host_a.data()));
  CL_CHECK(queue.enqueueWriteBuffer(b, CL_TRUE, 0, bytes, host_b.data()));

  const auto start = [&](const char* name, std::size_t items) {
    cl::Kernel kernel = CL_CHECK(cl::Kernel(program, name));
    CL_CHECK(kernel.setArg(0, a));
    CL_CHECK(kernel.setArg(1, b));
    CL_CHECK(kernel.setArg(2, sum));
    CL_CHECK(kernel.setArg(3, static_cast<cl_uint>(items)));
    cl::Event event;
    CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(items), cl::NullRange, nullptr, &event));
    return event;
  };
  const auto copy = [&] {
    cl::Event event;
    CL_CHECK(queue.enqueueCopyBuffer(a, sum, 0, 0, bytes, nullptr, &event));
    return event;
  };

  cookbook::Checks checks;
  const auto check = [&](const char* name, std::size_t items, bool is_sum) {
    CL_CHECK(queue.enqueueFillBuffer(sum, cl_int{-1}, 0, bytes));
    start(name, items);
    CL_CHECK(queue.enqueueReadBuffer(sum, CL_TRUE, 0, bytes, result.data()));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) wrong += result[i] != host_a[i] + (is_sum ? host_b[i] : 0);
    checks.equal(fmt::format("wrong results of {}", name), wrong, 0U);
  };
  check("copy_four", count / 4, false);
  check("vector_sum", count, true);
  check("vector_sum_four", count / 4, true);

  const double moved = static_cast<double>(bytes);
  cookbook::Figures figures(fmt::format("{} integers", count), cookbook::rate("GB/s", 1e9), opencl::name_of(*device));
  figures.percent_of("copy by a kernel", "copy");
  figures.measure(
      {opencl::timed_row("enqueueCopyBuffer", 2 * moved, copy),
       opencl::timed_row("copy by a kernel", 2 * moved, [&] { return start("copy_four", count / 4); }),
       opencl::timed_row("one integer per work-item", 3 * moved, [&] { return start("vector_sum", count); }),
       opencl::timed_row("four integers per work-item", 3 * moved,
                         [&] { return start("vector_sum_four", count / 4); })},
      rounds);
  figures.print(checks);
  return checks.exit_code();
}
