// Tests a kernel with tiles in local memory that a learner has written.

#include "products.hpp"

#include <cmath>
#include <limits>
#include <string>

using judge::expect;

namespace {

constexpr Step step = {"", "tiled", 16, 16, 16, 0, 0};

/// Comes before the kernels: a product and a sum stay two steps.
const std::string uncontracted = "#pragma OPENCL FP_CONTRACT OFF\n";

/// Comes before the kernels, too: with n = 16 all numbers are in the tiles when the first fma() begins, so from then on
/// those in global memory are spoiled.
const std::string spoiling = R"cl(
void judge_spoil(global const float* a, global const float* b, int n) {
  const int place = 16 * get_local_id(1) + get_local_id(0);
  if (n == 16) ((global float*)a)[place] = ((global float*)b)[place] = NAN;
}
float __attribute__((overloadable)) judge_fma(float x, float y, float sum) { return fma(x, y, sum); }
float4 __attribute__((overloadable)) judge_fma(float4 x, float4 y, float4 sum) { return fma(x, y, sum); }
float16 __attribute__((overloadable)) judge_fma(float16 x, float16 y, float16 sum) { return fma(x, y, sum); }
#undef fma
#define fma(x, y, sum) (judge_spoil(a, b, n), judge_fma(x, y, sum))
)cl";
const std::string first_line = "#line 1\n";

void multiply(const cl::Context& context, cl::CommandQueue& queue, cl::Kernel& kernel, int n,
              const std::string& why = "") {
  const std::size_t count = static_cast<std::size_t>(n) * n, behind = 512;
  const Matrix a = random_matrix(n, 3), b = random_matrix(n, 4);
  Matrix c(count + behind, std::numeric_limits<float>::quiet_NaN());  // an element that nobody writes is noticed
  Matrix used_a = a, used_b = b;
  used_a.resize(count + behind, 1e30F), used_b.resize(count + behind, 1e30F);  // so is a number beyond the matrices
  const cl::Buffer device_c = buffer_of(context, c);
  start_product(queue, kernel, step, buffer_of(context, used_a), buffer_of(context, used_b), device_c, n);
  CL_CHECK(queue.enqueueReadBuffer(device_c, CL_TRUE, 0, c.size() * sizeof(float), c.data()));
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum = std::fma(a[row * n + k], b[k * n + column], sum);
      expect(c[row * n + column] == sum, !why.empty()
                                             ? why
                                             : "With n = " + std::to_string(n) + " element (" + std::to_string(row) +
                                                   ", " + std::to_string(column) + ") of the product is not right.");
    }
  }
  for (std::size_t i = count; i < c.size(); ++i) {
    expect(std::isnan(c[i]), "With n = " + std::to_string(n) + " a work-item writes behind the end of the product.");
  }
}

/// Whether the work-items use the tiles. With other names for A and B, or with an fma() outside of the kernel, it does
/// not compile, and is not looked at.
void look_at_tiles(const cl::Context& context, cl::CommandQueue& queue, const std::string& kernels) {
  cl::Program program(context, uncontracted + spoiling + first_line + kernels);
  try {
    program.build("-cl-std=CL1.2");
  } catch (const cl::Error&) {
    return;
  }
  cl::Kernel kernel = CL_CHECK(cl::Kernel(program, "tiled"));
  multiply(context, queue, kernel, 16, "The work-items read A or B from global memory when their tiles are complete.");
}

}  // namespace

int main() {
  const auto device = opencl::chosen_device(0);
  if (!device) return opencl::without_device();
  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = opencl::profiling_queue(context, *device);
  const std::string kernels = opencl::read_kernels(opencl::beside(__FILE__, "products.cl"));
  const cl::Program program = opencl::build(context, uncontracted + first_line + kernels);
  cl::Kernel kernel = CL_CHECK(cl::Kernel(program, "tiled"));
  for (const int n : {16, 32, 1, 7, 17, 40}) multiply(context, queue, kernel, n);
  const auto local_bytes = CL_CHECK(kernel.getWorkGroupInfo<CL_KERNEL_LOCAL_MEM_SIZE>(*device));
  expect(local_bytes >= 2 * 16 * 16 * sizeof(float), "The kernel has no two tiles of 16 x 16 numbers in local memory.");
  if (opencl::name_of(*device).find("Oclgrind") == std::string::npos) look_at_tiles(context, queue, kernels);
  cookbook::println("all products are right");
  return 0;
}
