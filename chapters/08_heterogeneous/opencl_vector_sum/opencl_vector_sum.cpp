// Vector sum in OpenCL
//
// Adds two vectors of 100 integers on whatever device there is: a GPU, or the processor. The program shows the five
// objects that every OpenCL program has (device, context, command queue, program, kernel) and the way of the data: into
// buffers, through the kernel, back. The kernel lies in a file of its own, vector_sum.cl, and is compiled while the
// program runs. All sums must equal the host's. Then two long vectors, to see how fast the device's memory is.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/08_heterogeneous chapters/08_heterogeneous/opencl_vector_sum/opencl_vector_sum.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_vector_sum
// Run:     opencl_vector_sum [--count N] [--input WORD] [--group N] [--device N] [--large N] [--kernels TEXT]

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "large_sum.hpp"
#include "opencl_check.hpp"
#include "samples.hpp"

namespace {

using Vector = std::vector<cl_int>;  ///< 32 bits on every platform, as the kernel's int

/// The sequential form: one loop over the elements.
Vector sum_on_host(const Vector& a, const Vector& b) {
  Vector sum(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) sum[i] = a[i] + b[i];
  return sum;
}

/// The five objects, made in this order.
struct FiveObjects {
  cl::Device device;                                                     ///< the hardware that runs kernels
  std::string source;                                                    ///< of the kernels
  cl::Context context = CHECK_CL(cl::Context(device));                   ///< devices that share buffers and programs
  cl::CommandQueue queue = CHECK_CL(cl::CommandQueue(context, device));  ///< what the device does, one after another
  cl::Program program = opencl::build(context, source);                  ///< the kernels, compiled for the device
  cl::Kernel kernel = CHECK_CL(cl::Kernel(program, "vector_sum"));       ///< one of them, with its arguments
};

/// A buffer with a copy of `numbers`. It belongs to the context; the data go to a device when one needs them.
cl::Buffer buffer_of(const cl::Context& context, cl_mem_flags access, const Vector& numbers) {
  // The interface takes a pointer to what is not const, but only reads from it here.
  return CHECK_CL(cl::Buffer(context, access | CL_MEM_COPY_HOST_PTR, numbers.size() * sizeof(cl_int),
                             const_cast<cl_int*>(numbers.data())));
}

/// How many work-items there must be for `count` elements: as many, rounded up to whole work-groups.
cl::NDRange global_range(std::size_t count, std::size_t group) {
  return cl::NDRange(group == 0 ? count : (count + group - 1) / group * group);
}

/// The size of the work-groups; 0 leaves it to the implementation.
cl::NDRange local_range(std::size_t group) { return group == 0 ? cl::NullRange : cl::NDRange(group); }

constexpr cl_int untouched = -1;  ///< no sum is negative, so an element that nobody has written shows

/// The parallel form. The result has one element more than the vectors, to see that the kernel has left it alone.
Vector sum_on_device(FiveObjects& five, const Vector& a, const Vector& b, std::size_t group) {
  if (a.size() != b.size()) throw std::invalid_argument("the vectors differ in length");
  Vector sum(a.size() + 1, untouched);
  const cl::Buffer device_a = buffer_of(five.context, CL_MEM_READ_ONLY, a);
  const cl::Buffer device_b = buffer_of(five.context, CL_MEM_READ_ONLY, b);
  const cl::Buffer device_sum = buffer_of(five.context, CL_MEM_READ_WRITE, sum);

  CHECK_CL(five.kernel.setArg(0, device_a));
  CHECK_CL(five.kernel.setArg(1, device_b));
  CHECK_CL(five.kernel.setArg(2, device_sum));
  CHECK_CL(five.kernel.setArg(3, static_cast<cl_uint>(a.size())));
  CHECK_CL(
      five.queue.enqueueNDRangeKernel(five.kernel, cl::NullRange, global_range(a.size(), group), local_range(group)));
  // The queue keeps the order, so this reads what the kernel has written; CL_TRUE waits until it is done.
  CHECK_CL(five.queue.enqueueReadBuffer(device_sum, CL_TRUE, 0, sum.size() * sizeof(cl_int), sum.data()));
  return sum;
}

/// How often each global id ran, counted by the program's second kernel.
Vector visits(FiveObjects& five, std::size_t count, std::size_t group) {
  Vector times(count, 0);
  const cl::Buffer device_times = buffer_of(five.context, CL_MEM_READ_WRITE, times);
  cl::Kernel kernel = CHECK_CL(cl::Kernel(five.program, "count_visits"));
  CHECK_CL(kernel.setArg(0, device_times));
  CHECK_CL(kernel.setArg(1, static_cast<cl_uint>(count)));
  CHECK_CL(five.queue.enqueueNDRangeKernel(kernel, cl::NullRange, global_range(count, group), local_range(group)));
  CHECK_CL(five.queue.enqueueReadBuffer(device_times, CL_TRUE, 0, count * sizeof(cl_int), times.data()));
  return times;
}

/// What OpenCL says to 100 work-items in groups of 7.
std::string uneven_groups(FiveObjects& five) {
  try {
    five.queue.enqueueNDRangeKernel(five.kernel, cl::NullRange, cl::NDRange(100), cl::NDRange(7));
  } catch (const cl::Error& error) {
    return opencl::error_text(error.err());
  }
  return "accepted";
}

/// Whether vectors of different length are refused before anything is given to the device.
bool refuses_different_lengths(FiveObjects& five) {
  try {
    sum_on_device(five, Vector(100), Vector(99), 0);
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

Vector random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  Vector numbers(count);
  for (cl_int& number : numbers) number = static_cast<cl_int>(engine() % 100);
  return numbers;
}

/// Prints a vector in rows of 20, if it has at most 100 elements.
void show(const char* name, const Vector& numbers) {
  if (numbers.size() > 100) return;
  cookbook::println("{}", name);
  for (std::size_t i = 0; i < numbers.size(); i += 20) {
    const auto row = numbers.begin() + static_cast<std::ptrdiff_t>(i);
    cookbook::println("{:3}", fmt::join(row, row + std::min<std::ptrdiff_t>(20, numbers.end() - row), " "));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 100, group = 0, device = 0, large = std::size_t{1} << 24;
  std::string input = "random", kernels = opencl::beside(__FILE__, "vector_sum.cl");
  cookbook::Options options("Add two vectors on any OpenCL device");
  options.add("count", count, "elements of random vectors", 1, 1 << 26);
  options.add_choice("input", input, "what to add: random numbers, or 100 that the source printed",
                     {"random", "first-edition", "second-edition"});
  options.add("group", group, "work-items in a work-group, 0 to leave it to the implementation", 0, 1 << 20);
  options.add("device", device, "number of the device, GPUs first", 0, 63);
  options.add("large", large, "elements of the large vectors, 0 to leave them out", 0, 1 << 28);
  options.add("kernels", kernels, "file of the kernels");
  options.parse(argc, argv);

  Vector a = random_numbers(count, 1), b = random_numbers(count, 2);
  if (input == "first-edition") {
    a = samples::first_a;
    b = samples::first_b;
  }
  if (input == "second-edition") {
    a = samples::second_a;
    b = samples::second_b;
  }
  const Vector expected = sum_on_host(a, b);
  const std::string source = opencl::read_kernels(kernels);

  cookbook::Checks checks;
  checks.within("largest input", std::max(*std::max_element(a.begin(), a.end()), *std::max_element(b.begin(), b.end())),
                0, 99);
  checks.within("largest sum on the host", *std::max_element(expected.begin(), expected.end()), 0, 198);
  const std::vector<cl::Device> devices = opencl::devices();
  if (devices.empty()) return opencl::without_device(checks);
  if (device >= devices.size()) {
    cookbook::complain(fmt::format("--device {}: there are {}, numbered from 0", device, devices.size()));
    return 2;
  }

  FiveObjects five{devices[device], source};
  Vector sum = sum_on_device(five, a, b, group);
  const cl_int behind = sum.back();
  sum.pop_back();
  cookbook::println("OPENCL SUM OF TWO VECTORS");
  cookbook::println("Selected = {}", opencl::name_of(five.device));
  cookbook::println("VECTOR LENGTH = {}", a.size());
  show("INPUT VECTOR A", a);
  show("INPUT VECTOR B", b);
  show("OUTPUT VECTOR RESULT A + B", sum);

  checks.that("all sums equal the host's", sum == expected);
  checks.equal("element behind the last", behind, untouched);
  checks.that("each global id ran once", visits(five, a.size(), group) == Vector(a.size(), 1));
  checks.equal("100 work-items in groups of 7", uneven_groups(five), "CL_INVALID_WORK_GROUP_SIZE");
  checks.that("vectors of different length are refused", refuses_different_lengths(five));
  std::size_t agree = 0;
  for (const cl::Device& each : devices) {
    FiveObjects its{each, source};
    Vector its_sum = sum_on_device(its, a, b, 0);
    its_sum.pop_back();
    agree += its_sum == expected;
  }
  checks.equal("devices with these sums", agree, devices.size());
  if (large >= 4) large_sum::run(checks, five.device, source, large / 4 * 4);
  return checks.exit_code();
}
