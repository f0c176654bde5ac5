// Reduction in OpenCL, measured
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/08_heterogeneous/opencl_reduction/opencl_reduction_bench.cpp common/cookbook/*.cpp -lOpenCL -ltbb -lfmt -o opencl_reduction_bench
// Run:     opencl_reduction_bench [--count N] [--rounds N] [--device N]

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <cmath>
#include <numeric>
#include <random>

#include "cookbook/figures.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"

namespace {

constexpr std::size_t items = 256;

/// The two stages of a sum on the device, by the recipe's kernels or by one that loads four floats.
class Sums {
 public:
  Sums(const cl::Device& device, const std::vector<float>& values)
      : count_(static_cast<cl_uint>(values.size())),
        context_(CL_CHECK(cl::Context(device))),
        queue_(opencl::profiling_queue(context_, device)),
        program_(opencl::build(
            context_,
            "#define VALUE float\n#define VALUE16 float16\n#define COMBINE(a, b) (a + b)\n#define NEUTRAL 0\n" +
                opencl::read_kernels(opencl::beside(__FILE__, "reduction.cl")) +
                opencl::read_kernels(opencl::beside(__FILE__, "reduction_bench.cl")))),
        in_strides_(CL_CHECK(cl::Kernel(program_, "reduce_in_strides"))),
        in_pieces_(CL_CHECK(cl::Kernel(program_, "reduce_in_pieces"))),
        sum_fours_(CL_CHECK(cl::Kernel(program_, "sum_fours"))),
        read_fours_(CL_CHECK(cl::Kernel(program_, "read_fours"))),
        groups_(8 * CL_CHECK(device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>())),
        values_(CL_CHECK(cl::Buffer(context_, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, count_ * sizeof(float),
                                    const_cast<float*>(values.data())))),
        of_group_(CL_CHECK(cl::Buffer(context_, CL_MEM_READ_WRITE, groups_ * sizeof(float)))),
        of_all_(CL_CHECK(cl::Buffer(context_, CL_MEM_READ_WRITE, sizeof(float)))) {}

  /// Each returns the time of the device in seconds, from the begin of the first kernel to the end of the last.
  double in_strides() {
    const cl::Event first = start_in_strides(values_, count_, of_group_, groups_);
    return opencl::seconds_between(first, start_in_strides(of_group_, static_cast<cl_uint>(groups_), of_all_, 1));
  }
  double in_pieces() {
    const cl::Event first = start_in_pieces(values_, count_, of_group_, groups_);
    return opencl::seconds_between(first, start_in_pieces(of_group_, static_cast<cl_uint>(groups_), of_all_, 1));
  }
  double fours() {
    set(sum_fours_, values_, count_ / 4, cl::Local(items * sizeof(float)), of_group_);
    const cl::Event first = start(sum_fours_, groups_, items);
    return opencl::seconds_between(first, start_in_strides(of_group_, static_cast<cl_uint>(groups_), of_all_, 1));
  }
  double read_only(bool pieces) {
    set(read_fours_, values_, count_ / 4, cl_int{pieces}, of_all_);
    return opencl::seconds_of(start(read_fours_, groups_, items));
  }

  /// The last sum.
  float result() {
    float sum = 0;
    CL_CHECK(queue_.enqueueReadBuffer(of_all_, CL_TRUE, 0, sizeof(sum), &sum));
    return sum;
  }

 private:
  template <typename... Arguments>
  void set(cl::Kernel& kernel, const Arguments&... arguments) {
    cl_uint index = 0;
    (CL_CHECK(kernel.setArg(index++, arguments)), ...);
  }

  cl::Event start(const cl::Kernel& kernel, std::size_t groups, std::size_t size) {
    cl::Event done;
    CL_CHECK(queue_.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(groups * size), cl::NDRange(size), nullptr,
                                         &done));
    return done;
  }

  cl::Event start_in_strides(const cl::Buffer& from, cl_uint count, const cl::Buffer& to, std::size_t groups) {
    set(in_strides_, from, count, to, cl::Local(items * sizeof(float)));
    return start(in_strides_, groups, items);
  }

  cl::Event start_in_pieces(const cl::Buffer& from, cl_uint count, const cl::Buffer& to, std::size_t groups) {
    set(in_pieces_, from, count, to);
    return start(in_pieces_, groups, 1);
  }

  cl_uint count_;
  cl::Context context_;
  cl::CommandQueue queue_;
  cl::Program program_;
  cl::Kernel in_strides_, in_pieces_, sum_fours_, read_fours_;
  std::size_t groups_;
  cl::Buffer values_, of_group_, of_all_;
};

float sum_by_tbb(const std::vector<float>& values) {
  return tbb::parallel_reduce(
      tbb::blocked_range<const float*>(values.data(), values.data() + values.size()), 0.0F,
      [](const tbb::blocked_range<const float*>& range, float sum) {
        float lanes[64] = {};  // independent sums, so that the compiler can use vectors
        const float* from = range.begin();
        for (; range.end() - from >= 64; from += 64) {
          for (int lane = 0; lane < 64; ++lane) lanes[lane] += from[lane];
        }
        return std::accumulate(from, range.end(), std::accumulate(lanes, lanes + 64, sum));
      },
      std::plus<>());
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1 << 26, device_number = 0;
  int rounds = 11;
  cookbook::Options options("What a sum costs on an OpenCL device");
  // From the lowest count on, the loop with four loads runs on devices of up to 152 compute units.
  options.add("count", count, "floats to add up, rounded down to a multiple of 4", 5'000'011, 1 << 30);
  options.add("rounds", rounds, "measured runs of each way", 1, 1'000);
  options.add("device", device_number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  count = count / 4 * 4;
  const auto device = opencl::chosen_device(device_number);
  if (!device) return opencl::without_device();
  cookbook::require_memory(2.0 * static_cast<double>(count) * sizeof(float), fmt::format("--count {}", count));

  std::mt19937 random(4);
  std::vector<float> values(count);
  double exact = 0, magnitude = 0;
  for (float& value : values) {
    value = static_cast<float>(random() >> 8) * 0x1p-23F - 1;
    exact += value;
    magnitude += std::abs(value);
  }
  Sums sums(*device, values);

  cookbook::Checks checks;
  const auto near = [&](float sum) { return std::abs(sum - exact) <= 1e-6 * magnitude; };
  sums.in_strides();
  checks.that("in strides: the sum is near the exact one", near(sums.result()));
  sums.in_pieces();
  checks.that("in pieces: the sum is near the exact one", near(sums.result()));
  sums.fours();
  checks.that("in strides, four floats per load: the sum is near the exact one", near(sums.result()));
  checks.that("oneTBB: the sum is near the exact one", near(sum_by_tbb(values)));

  // Neighbouring work-items of a GPU run together, and should load from neighbouring places. A core runs them one after
  // the other, and should load from one place on.
  const bool pieces = (CL_CHECK(device->getInfo<CL_DEVICE_TYPE>()) & CL_DEVICE_TYPE_CPU) != 0;
  const double bytes = static_cast<double>(count) * sizeof(float);
  cookbook::Figures figures(fmt::format("sum of {} floats", count), cookbook::rate("GB/s", 1e9),
                            fmt::format("{}; {}", opencl::name_of(*device), cookbook::machine()));
  figures.measure({{"read only", bytes, [&] { return sums.read_only(pieces); }},
                   {"in strides", bytes, [&] { return sums.in_strides(); }},
                   {"in strides, four floats per load", bytes, [&] { return sums.fours(); }},
                   {"in pieces, vectors of 16", bytes, [&] { return sums.in_pieces(); }},
                   {"oneTBB on the host", bytes, [&] { cookbook::do_not_optimize(sum_by_tbb(values)); }}},
                  rounds);
  figures.percent_of("read only");
  figures.speedup_over("oneTBB on the host", "oneTBB");
  figures.print(checks);
  return checks.exit_code();
}
