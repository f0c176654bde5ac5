// Reduction in OpenCL
//
// An operation on two values, such as a + b, becomes one that combines any number of them. There are two kernels for
// it, since neither is fast on GPUs and processors alike. In one, which suits GPUs, neighbouring work-items load
// neighbouring values, and the work-items of a group combine theirs as a tree in local memory. In the other, which
// suits processors, each work-item goes through a piece of the memory of its own. The program prints how fast both are
// on this device: one of them is far behind.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/08_heterogeneous chapters/08_heterogeneous/opencl_reduction/opencl_reduction.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_reduction
// Run:     opencl_reduction [--count N] [--items N] [--device N]

#include <numeric>
#include <random>

#include "cookbook/options.hpp"
#include "reduction.hpp"
#include "shortest_time.hpp"

namespace {

/// Runs the reduction five times, prints how many bytes per second it reads in the fastest run, and returns its result.
cl_uint run(const char* what, Reduction<cl_uint>& reduction, const std::vector<cl_uint>& values, std::size_t groups,
            std::size_t items) {
  cl_uint result = 0;
  double seconds = 1e9;
  for (int i = 0; i < 5; ++i) {
    result = reduction(values, groups, items);
    seconds = std::min(seconds, reduction.seconds());
  }
  cookbook::println("{:<44}{:8.2f} GB/s", what, values.size() * sizeof(cl_uint) / seconds * 1e-9);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1 << 24, items = 256, number = 0;
  cookbook::Options options("Combine many values into one on an OpenCL device");
  options.add("count", count, "values to combine", 1, 1 << 28);
  options.add("items", items, "work-items per group, in strides", 1, 1'024);
  options.add("device", number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  const auto device = opencl::chosen_device(number);
  if (!device) return opencl::without_device();
  const bool is_processor = form_for(*device) == Form::pieces;
  cookbook::println("{}: a {}", opencl::name_of(*device), is_processor ? "processor" : "GPU or accelerator");

  std::vector<cl_uint> values(count);  // unsigned: sums wrap around, so they are the same in every order
  std::generate(values.begin(), values.end(), std::mt19937(1));
  cl_uint expected = 0;
  const double host_seconds =
      shortest_on_host(5, [&] { expected = std::accumulate(values.begin(), values.end(), cl_uint{0}); });
  cookbook::println("{:<44}{:8.2f} GB/s", "one thread of the host", count * sizeof(cl_uint) / host_seconds * 1e-9);

  const std::size_t groups = 8 * CL_CHECK(device->getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>());
  Reduction<cl_uint> in_strides(*device, Form::strides, "uint", "a + b", "0");
  Reduction<cl_uint> in_pieces(*device, Form::pieces, "uint", "a + b", "0");
  int wrong = 0;
  wrong += run("for GPUs: in strides, a tree in each group", in_strides, values, groups, items) != expected;
  wrong += run("for processors: in pieces, vectors of 16", in_pieces, values, groups, items) != expected;

  cookbook::Checks checks;
  checks.equal("kernels with another sum than the host", wrong, 0);
  return checks.exit_code();
}
