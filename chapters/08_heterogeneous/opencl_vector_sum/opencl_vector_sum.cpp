// Vector sum in OpenCL
//
// Is it worth while to let a device add two vectors? The program makes the five objects that every OpenCL program has
// (device, context, command queue, program, kernel), copies two vectors of ten million integers to the device, runs the
// kernel, and copies the sums back. It does this twice with the same buffers, and prints how long each part takes, all
// of them together, the sum without copies if the device shares the host's memory, and the same sum by one thread of
// the host. The kernel stands in a file of its own, vector_sum.cl, which the program gives to the driver's compiler.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_vector_sum/opencl_vector_sum.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_vector_sum
// Run:     opencl_vector_sum [--count N] [--group N] [--device N]

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "five_objects.hpp"

namespace {

using Vector = std::vector<cl_int>;  // cl_int has 32 bits, as the kernel's int

/// Memory that the device can use, for two vectors and their sums.
struct Buffers {
  cl::Buffer a, b, sum;
};

/// How long the host waited for each part of a sum, in seconds.
struct Times {
  double to_device, kernel, to_host;
  double together() const { return to_device + kernel + to_host; }
};

/// Puts the kernel into the queue: `items` work-items in groups of `group` add `count` elements.
void start_kernel(FiveObjects& five, const Buffers& memory, std::size_t count, std::size_t items, std::size_t group) {
  CL_CHECK(five.kernel.setArg(0, memory.a));
  CL_CHECK(five.kernel.setArg(1, memory.b));
  CL_CHECK(five.kernel.setArg(2, memory.sum));
  CL_CHECK(five.kernel.setArg(3, static_cast<cl_uint>(count)));
  CL_CHECK(five.queue.enqueueNDRangeKernel(five.kernel, cl::NullRange, cl::NDRange(items), cl::NDRange(group)));
}

/// Copies a and b to the device, adds them, and copies the sums back, with as many elements as `sum` has.
Times sum_on_device(FiveObjects& five, const Buffers& memory, const Vector& a, const Vector& b, Vector& sum,
                    std::size_t items, std::size_t group) {
  const std::size_t bytes = a.size() * sizeof(cl_int), sum_bytes = sum.size() * sizeof(cl_int);
  // Not timed: `sum` goes to the device as it is, so that the caller can see which elements the kernel left alone.
  CL_CHECK(five.queue.enqueueWriteBuffer(memory.sum, CL_TRUE, 0, sum_bytes, sum.data()));

  const cookbook::Stopwatch copies;
  CL_CHECK(five.queue.enqueueWriteBuffer(memory.a, CL_TRUE, 0, bytes, a.data()));
  CL_CHECK(five.queue.enqueueWriteBuffer(memory.b, CL_TRUE, 0, bytes, b.data()));
  const double to_device = copies.seconds();

  const cookbook::Stopwatch kernel;
  start_kernel(five, memory, a.size(), items, group);
  CL_CHECK(five.queue.finish());  // only to take the time: the queue keeps the order, so the read waits for the kernel
  const double in_kernel = kernel.seconds();

  const cookbook::Stopwatch back;
  CL_CHECK(five.queue.enqueueReadBuffer(memory.sum, CL_TRUE, 0, sum_bytes, sum.data()));
  return {to_device, in_kernel, back.seconds()};
}

/// The same without copies, if the device shares the host's memory: the vectors themselves are the buffers.
double sum_in_place(FiveObjects& five, Vector& a, Vector& b, Vector& sum, std::size_t items, std::size_t group) {
  const cookbook::Stopwatch watch;
  const auto buffer = [&](Vector& v) {
    constexpr cl_mem_flags in_place = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
    return CL_CHECK(cl::Buffer(five.context, in_place, v.size() * sizeof(cl_int), v.data()));
  };
  const Buffers memory = {buffer(a), buffer(b), buffer(sum)};
  start_kernel(five, memory, a.size(), items, group);
  void* const sums =
      CL_CHECK(five.queue.enqueueMapBuffer(memory.sum, CL_TRUE, CL_MAP_READ, 0, a.size() * sizeof(cl_int)));
  const double seconds = watch.seconds();
  CL_CHECK(five.queue.enqueueUnmapMemObject(memory.sum, sums));
  CL_CHECK(five.queue.finish());
  return seconds;
}

Buffers buffers_for(const FiveObjects& five, const Vector& a, const Vector& b, const Vector& sum) {
  const auto buffer = [&](cl_mem_flags access, const Vector& v) {
    return CL_CHECK(cl::Buffer(five.context, access, v.size() * sizeof(cl_int)));
  };
  return {buffer(CL_MEM_READ_ONLY, a), buffer(CL_MEM_READ_ONLY, b), buffer(CL_MEM_READ_WRITE, sum)};
}

/// `count` rounded up to whole work-groups of `group` work-items.
std::size_t work_items(std::size_t count, std::size_t group) { return (count + group - 1) / group * group; }

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 10'000'000, group = 256, device_number = 0;
  cookbook::Options options("Add two vectors on any OpenCL device");
  options.add("count", count, "elements of each vector", 1, 1 << 26);
  options.add("group", group, "work-items per work-group", 1, 1 << 20);
  options.add("device", device_number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  const std::optional<cl::Device> device = opencl::chosen_device(device_number);
  if (!device) return opencl::without_device();

  constexpr cl_int untouched = -1;  // no sum is negative, so an element that nobody has written shows
  const std::size_t items = work_items(count, group);
  Vector a(count), b(count), by_host(count, untouched), sum(items + 1, untouched);  // a place for every work-item
  std::iota(a.begin(), a.end(), 0);
  std::iota(b.begin(), b.end(), 1);
  const cookbook::Stopwatch start;
  FiveObjects five{*device, opencl::read_kernels(opencl::beside(__FILE__, "vector_sum.cl"))};
  const double start_seconds = start.seconds();

  cookbook::println("{}", opencl::name_of(five.device));
  cookbook::println("{} work-items in groups of {} for {} elements", items, group, count);
  const Buffers buffers = buffers_for(five, a, b, sum);
  const bool shared = CL_CHECK(five.device.getInfo<CL_DEVICE_HOST_UNIFIED_MEMORY>());
  Times times[2];
  double in_place[2] = {}, host_seconds[2];
  int right = 0, behind_untouched = 0;  // in how many of the runs
  const auto check = [&] {
    right += std::equal(by_host.begin(), by_host.end(), sum.begin());
    behind_untouched += sum[count] == untouched;
    std::fill(sum.begin(), sum.end(), untouched);  // so that no run can pass with the sums of the one before
  };
  for (const int run : {0, 1}) {
    const cookbook::Stopwatch host;
    std::transform(a.begin(), a.end(), b.begin(), by_host.begin(), std::plus<>());
    host_seconds[run] = host.seconds();
    times[run] = sum_on_device(five, buffers, a, b, sum, items, group);
    check();
    if (!shared) continue;
    in_place[run] = sum_in_place(five, a, b, sum, items, group);
    check();
  }
  const auto row = [](const char* what, double first, double second) {
    cookbook::println("{:<33}{:7.2f} ms {:10.2f} ms", what, first * 1e3, second * 1e3);
  };
  cookbook::println("                                first run    second run");
  cookbook::println("{:<33}{:7.2f} ms", "five objects, made once", start_seconds * 1e3);
  row("vectors to the device", times[0].to_device, times[1].to_device);
  row("kernel", times[0].kernel, times[1].kernel);
  row("sums to the host", times[0].to_host, times[1].to_host);
  row("these three together", times[0].together(), times[1].together());
  if (shared) row("instead: without copies", in_place[0], in_place[1]);
  if (!shared) cookbook::println("{:<33}{:>10} {:>13}", "instead: without copies", "-", "-");
  row("instead: one thread of the host", host_seconds[0], host_seconds[1]);

  const int runs = shared ? 4 : 2;
  cookbook::Checks checks;
  checks.that("every sum is the one that the host computes", right == runs);
  checks.that("the element behind the last sum is untouched", behind_untouched == runs);
  return checks.exit_code();
}
