// Vector addition on a GPU
//
// Adds two vectors of 1,048,576 floats, one thread an element: 4096 blocks of 256 threads. A guard is for the threads
// of the last block that have no element, 255 of them with --count 1048577. The host adds them too, and every sum must
// agree to the last bit. Then two vectors of 2^28 floats, which no cache holds: there the device's memory sets the
// pace, and a thread that loads four floats at once keeps up with it, while a thread that loads one does not. Without a
// device only the host's part runs.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_vector_add/cuda_vector_add.cu common/cookbook/*.cpp -lfmt -o cuda_vector_add
// Run:     cuda_vector_add [--count N] [--large N]

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cuda_check.hpp"
#include "cuda_memory.hpp"
#include "cuda_timer.hpp"
#include "reference.cuh"

namespace {

using Vector = std::vector<float>;

/// The sequential form: one loop over the elements.
Vector add_on_host(const Vector& a, const Vector& b) {
  Vector sum(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) sum[i] = a[i] + b[i];
  return sum;
}

/// The parallel form: the loop is gone. As many threads as elements run this function, each with its own index.
__global__ void add(const float* a, const float* b, float* sum, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];  // the guard: the last block may have more threads than elements are left
}

constexpr int block = 256;  ///< threads in a block

/// How many blocks of `threads` have a thread for each element: the quotient, rounded up.
unsigned blocks_for(std::size_t count, int threads = block) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

/// Four elements a thread: one 16-byte load or store where add() needs four. Nothing is used twice, so the loads leave
/// out the first-level cache (cg) and the stores are marked as the first to be dropped from the second (cs).
__global__ void add_four(const float4* a, const float4* b, float4* sum, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float4 x = __ldcg(a + i), y = __ldcg(b + i);
  __stcs(sum + i, make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w));
}

/// Starts add_four() for the whole fours, and add() for the up to three elements after them.
void start_fours(const float* a, const float* b, float* sum, std::size_t count) {
  constexpr int wide_block = 768;  // the fastest of the sizes from 128 to 1024 that were tried, by 0.5 %
  const std::size_t fours = count / 4, done = fours * 4;
  if (fours > 0) {
    add_four<<<blocks_for(fours, wide_block), wide_block>>>(
        reinterpret_cast<const float4*>(a), reinterpret_cast<const float4*>(b), reinterpret_cast<float4*>(sum), fours);
    CUDA_CHECK(cudaGetLastError());
  }
  if (done < count) {
    add<<<1, block>>>(a + done, b + done, sum + done, count - done);
    CUDA_CHECK(cudaGetLastError());
  }
}

/// Standard normal numbers.
Vector normal_numbers(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Vector numbers(count);
  for (float& number : numbers) number = normal(engine);
  return numbers;
}

/// How many elements differ in any bit. As numbers two NaNs would differ and two zeros of either sign would not.
std::size_t different(const Vector& actual, const Vector& expected) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    count += std::bit_cast<unsigned>(actual[i]) != std::bit_cast<unsigned>(expected[i]);
  }
  return count;
}

std::string message(const Vector& actual, const Vector& expected) {
  return different(actual, expected) == 0 ? "Results are correct!" : "Results are incorrect!";
}

/// What needs no device: the geometry, and the reference against sums in double precision, rounded once.
void check_host(cookbook::Checks& checks, const Vector& a, const Vector& b, const Vector& expected) {
  checks.equal("blocks of 256 for 1048576 elements", blocks_for(1'048'576), 4096U);
  checks.equal("blocks of 256 for 1048577 elements", blocks_for(1'048'577), 4097U);
  checks.equal("blocks of 256 for 1 element", blocks_for(1), 1U);
  Vector exact(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) exact[i] = static_cast<float>(double{a[i]} + double{b[i]});
  checks.equal("sums of the host that differ from the exact ones", different(expected, exact), 0U);
  Vector wrong = expected;
  wrong.back() = std::nextafter(wrong.back(), 1e9F);
  checks.equal("message if the last bit of one sum is wrong", message(wrong, expected), "Results are incorrect!");
}

/// The five steps of a program that uses a GPU: memory there, data to it, the kernel, the results back, memory freed.
/// One element more than needed is copied back, to see that the kernel has left it alone.
Vector add_on_device(const Vector& a, const Vector& b) {
  const std::size_t count = a.size(), bytes = count * sizeof(float);
  float *device_a, *device_b, *device_sum;
  CUDA_CHECK(cudaMalloc(&device_a, bytes));
  CUDA_CHECK(cudaMalloc(&device_b, bytes));
  CUDA_CHECK(cudaMalloc(&device_sum, bytes + sizeof(float)));
  CUDA_CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemset(device_sum, 0xFF, bytes + sizeof(float)));  // NaN: an element that nobody writes shows

  add<<<blocks_for(count), block>>>(device_a, device_b, device_sum, count);
  CUDA_CHECK(cudaGetLastError());

  Vector sum(count + 1);
  CUDA_CHECK(
      cudaMemcpy(sum.data(), device_sum, bytes + sizeof(float), cudaMemcpyDeviceToHost));  // waits for the kernel
  CUDA_CHECK(cudaFree(device_a));
  CUDA_CHECK(cudaFree(device_b));
  CUDA_CHECK(cudaFree(device_sum));
  return sum;
}

__global__ void fill(float* numbers, unsigned seed, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = gpu::random_number(seed, static_cast<unsigned>(i));
}

/// Vectors that leave the caches: all sums against the host's, and the bytes a second that each kernel moves.
void add_large(cookbook::Checks& checks, std::size_t count) {
  gpu::DeviceArray<float> a(count), b(count), sum(count);
  fill<<<blocks_for(count), block>>>(a.data(), 1, count);
  CUDA_CHECK(cudaGetLastError());
  fill<<<blocks_for(count), block>>>(b.data(), 2, count);
  CUDA_CHECK(cudaGetLastError());
  sum.poison();
  start_fours(a.data(), b.data(), sum.data(), count);

  std::size_t wrong = 0;
  const Vector actual = sum.to_host();
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<unsigned>(i);
    wrong += !(actual[i] == gpu::random_number(1, index) + gpu::random_number(2, index));
  }
  checks.equal("wrong sums in the large vector, four a thread", wrong, 0U);

  const double bytes = static_cast<double>(count) * sizeof(float);
  const std::string copy = "copy, read and written";
  cookbook::Figures figures(fmt::format("{} floats", count), cookbook::rate("GB/s", 1e9), gpu::device());
  figures.measure(
      {gpu::timed_row(
           copy, 2 * bytes,
           [&] { CUDA_CHECK(cudaMemcpyAsync(sum.data(), a.data(), count * sizeof(float), cudaMemcpyDeviceToDevice)); }),
       gpu::timed_row("one float a thread", 3 * bytes,
                      [&] {
                        add<<<blocks_for(count), block>>>(a.data(), b.data(), sum.data(), count);
                        CUDA_CHECK(cudaGetLastError());
                      }),
       gpu::timed_row("four floats a thread", 3 * bytes, [&] { start_fours(a.data(), b.data(), sum.data(), count); }),
       gpu::timed_row(reference::name, 3 * bytes,
                      [&] { reference::start_add(a.data(), b.data(), sum.data(), count); })},
      21);
  figures.percent_of(copy, "copy");
  figures.times(reference::name, "CUB");
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1'048'576, large = std::size_t{1} << 28;
  cookbook::Options options("Add two vectors on a GPU, one thread an element");
  options.add("count", count, "elements of the vectors", 1, 1 << 28);
  options.add("large", large, "elements of the large vectors, 0 to leave them out", 0, 1LL << 36);
  options.parse(argc, argv);

  cookbook::Checks checks;
  const Vector a = normal_numbers(count, 1), b = normal_numbers(count, 2), expected = add_on_host(a, b);
  check_host(checks, a, b, expected);
  if (!gpu::device_found()) return gpu::without_device(checks);

  Vector sum = add_on_device(a, b);
  checks.equal("bits of the element after the last", std::bit_cast<unsigned>(sum.back()), 0xFFFFFFFFU);
  sum.pop_back();
  cookbook::println("first sums: {:.4f}", fmt::join(sum.begin(), sum.begin() + std::min<std::size_t>(count, 10), " "));
  checks.equal("sums that differ from the host's", different(sum, expected), 0U);
  checks.equal("message", message(sum, expected), "Results are correct!");
  if (large > 0) add_large(checks, large);
  return checks.exit_code();
}
