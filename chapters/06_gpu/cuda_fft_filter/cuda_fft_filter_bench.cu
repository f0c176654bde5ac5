// Filter by fast Fourier transform, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_fft_filter/cuda_fft_filter_bench.cu common/cookbook/*.cpp -lcufft -lnvrtc -lfftw3f -lfmt -o cuda_fft_filter_bench
// Run:     cuda_fft_filter_bench [--size N] [--rounds N]

#include <cufft.h>
#include <cufftXt.h>

#include <fftw3.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/nvrtc.hpp"
#include "cookbook/options.hpp"
#include "stream.hpp"

namespace {

constexpr std::array sizes = {5, 9, 13, 17, 25, 33};  // of the filter, rows and columns
constexpr int largest = sizes.back();

__constant__ float weights[largest * largest];

/// Number i of the picture (seed 1) or of the filter (seed 2).
float number(unsigned seed, std::size_t i) { return gpu::random_number(seed, static_cast<unsigned>(i)); }

/// Multiplies two spectra, two numbers per thread. The scale is in b already.
__global__ void multiply(float4* a, const float4* b, std::size_t pairs) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  const float4 x = __ldcg(a + i), y = __ldcg(b + i);
  a[i] = make_float4(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x, x.z * y.z - x.w * y.w, x.z * y.w + x.w * y.z);
}

/// What the inverse transform is to call for each number of the spectrum that it loads, instead of loading it. cuFFT
/// looks for its name as a C++ function.
constexpr const char* load_callback = R"(
  __device__ float2 load_product(void* spectrum, unsigned long long i, void* response_spectrum, void*) {
    const float2 a = static_cast<const float2*>(spectrum)[i], b = static_cast<const float2*>(response_spectrum)[i];
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
  }
)";

/// Compiles the callback into an intermediate form that cuFFT compiles once more, together with its own kernels (LTO,
/// optimisation when linking).
std::string compile_callback() {
  nvrtcProgram program;
  NVRTC_CHECK(nvrtcCreateProgram(&program, load_callback, "load_callback", 0, nullptr, nullptr));
  const std::string own = gpu::architecture();  // such as "sm_90"
  const std::string target = "--gpu-architecture=compute" + own.substr(own.find('_'));
  const char* options[] = {target.c_str(), "--std=c++17", "-dlto", "--relocatable-device-code=true"};
  const nvrtcResult result = nvrtcCompileProgram(program, std::size(options), options);
  if (result != NVRTC_SUCCESS) {
    std::size_t size = 0;
    NVRTC_CHECK(nvrtcGetProgramLogSize(program, &size));
    std::string log(size, '\0');
    NVRTC_CHECK(nvrtcGetProgramLog(program, log.data()));
    cookbook::print_error(log);
  }
  NVRTC_CHECK(result);
  std::size_t size = 0;
  NVRTC_CHECK(nvrtcGetLTOIRSize(program, &size));
  std::string code(size, '\0');
  NVRTC_CHECK(nvrtcGetLTOIR(program, code.data()));
  NVRTC_CHECK(nvrtcDestroyProgram(&program));
  return code;
}

/// A plan for the inverse transform that multiplies by a spectrum while it loads. None if cuFFT gives no such plan: it
/// has these callbacks since CUDA 12.6 (update 2), and needs the library nvJitLink for them.
std::optional<cufftHandle> plan_with_callback(int n, const std::string& callback, void** response_spectrum) {
#if CUFFT_VERSION >= 11300
  cufftHandle plan;
  std::size_t work_bytes = 0;
  CUFFT_CHECK(cufftCreate(&plan));
  cufftResult result = cufftXtSetJITCallback(plan, "load_product", callback.data(), callback.size(),
                                             CUFFT_CB_LD_COMPLEX, response_spectrum);
  if (result == CUFFT_SUCCESS) result = cufftMakePlan2d(plan, n, n, CUFFT_C2R, &work_bytes);
  if (result == CUFFT_SUCCESS) return plan;
  cookbook::println("cuFFT makes no plan with a callback here: error {}", int(result));
  CUFFT_CHECK(cufftDestroy(plan));
#endif
  return std::nullopt;
}

/// Multiplies the columns from `first` to `first + width` of two spectra whose rows have `row` numbers.
__global__ void multiply_columns(float2* a, const float2* b, int row, int first, int width) {
  const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= static_cast<unsigned>(width)) return;
  const std::size_t i = std::size_t{blockIdx.y} * row + first + column;
  a[i] = cuCmulf(a[i], __ldcs(b + i));  // b is not used again, so it leaves the cache first
}

/// The filter with the columns in strips. A transform of two dimensions is one of all rows and then one of all columns.
/// Here a few columns are transformed, multiplied and transformed back before the next ones, so that they are still in
/// the second-level cache each time. Strips take turns on three streams, so that each fills the pauses of the others.
/// All of it is recorded as a graph, since these are many short kernels.
class ByStrips {
 public:
  ByStrips(int n, int strips, float* in, float2* spectrum, const float2* response_spectrum, float* out) {
    const int row = n / 2 + 1;  // of the spectrum
    auto* const complex = reinterpret_cast<cufftComplex*>(spectrum);
    int lengths[] = {n};  // cuFFT also wants the number of rows in memory, of which it looks at none in one dimension
    CUFFT_CHECK(cufftPlanMany(&rows_forward_, 1, lengths, nullptr, 1, n, nullptr, 1, row, CUFFT_R2C, n));
    CUFFT_CHECK(cufftPlanMany(&rows_back_, 1, lengths, nullptr, 1, row, nullptr, 1, n, CUFFT_C2R, n));
    std::vector<int> first;  // column of each strip, and the end
    for (int i = 0; i <= strips; ++i) first.push_back(row * i / strips);
    columns_.resize(strips);
    for (int i = 0; i < strips; ++i) {
      CUFFT_CHECK(cufftPlanMany(&columns_[i], 1, lengths, lengths, row, 1, lengths, row, 1, CUFFT_C2C,
                                first[i + 1] - first[i]));
    }
    std::array<Stream, 3> streams;
    std::array<Event, 3> done;
    CUFFT_CHECK(cufftSetStream(rows_forward_, streams[0]));
    CUFFT_CHECK(cufftSetStream(rows_back_, streams[0]));
    recorded_.emplace(streams[0], [&] {
      CUFFT_CHECK(cufftExecR2C(rows_forward_, in, complex));
      CUDA_CHECK(cudaEventRecord(done[0], streams[0]));
      for (std::size_t i = 1; i < streams.size(); ++i) CUDA_CHECK(cudaStreamWaitEvent(streams[i], done[0]));
      for (int i = 0; i < strips; ++i) {
        const cudaStream_t stream = streams[i % streams.size()];
        const int width = first[i + 1] - first[i];
        CUFFT_CHECK(cufftSetStream(columns_[i], stream));
        CUFFT_CHECK(cufftExecC2C(columns_[i], complex + first[i], complex + first[i], CUFFT_FORWARD));
        multiply_columns<<<dim3((width + 127) / 128, n), 128, 0, stream>>>(spectrum, response_spectrum, row, first[i],
                                                                           width);
        CUDA_CHECK(cudaGetLastError());
        CUFFT_CHECK(cufftExecC2C(columns_[i], complex + first[i], complex + first[i], CUFFT_INVERSE));
      }
      for (std::size_t i = 1; i < streams.size(); ++i) {
        CUDA_CHECK(cudaEventRecord(done[i], streams[i]));
        CUDA_CHECK(cudaStreamWaitEvent(streams[0], done[i]));
      }
      CUFFT_CHECK(cufftExecC2R(rows_back_, complex, out));
    });
  }
  ~ByStrips() {
    cufftDestroy(rows_forward_);
    cufftDestroy(rows_back_);
    for (const cufftHandle plan : columns_) cufftDestroy(plan);
  }
  ByStrips(const ByStrips&) = delete;
  ByStrips& operator=(const ByStrips&) = delete;

  /// On the default stream.
  void start() { recorded_->launch(nullptr); }

 private:
  cufftHandle rows_forward_ = 0, rows_back_ = 0;
  std::vector<cufftHandle> columns_;
  std::optional<gpu::RecordedWork> recorded_;
};

/// The definition, for a picture that goes on at the opposite edge. A block of 32 x 8 threads computes 32 x 32 pixels,
/// from a part of the picture in shared memory; each thread computes four pixels, so that it reads each weight once for
/// four.
template <int size>
__global__ void convolve_directly(const float* picture, float* result, int n) {
  constexpr int reach = size / 2, tile = 32 + size - 1;
  __shared__ float part[tile][tile + 1];
  const int first_row = blockIdx.y * 32, first_column = blockIdx.x * 32;
  for (int row = threadIdx.y; row < tile; row += 8) {
    for (int column = threadIdx.x; column < tile; column += 32) {
      const int y = (first_row + row - reach + n) % n, x = (first_column + column - reach + n) % n;
      part[row][column] = picture[static_cast<std::size_t>(y) * n + x];
    }
  }
  __syncthreads();
  float sum[4] = {};
  for (int j = 0; j < size; ++j) {
#pragma unroll
    for (int i = 0; i < size; ++i) {
      const float weight = weights[j * size + i];
      for (int k = 0; k < 4; ++k) {
        sum[k] += weight * part[threadIdx.y + 8 * k + size - 1 - j][threadIdx.x + size - 1 - i];
      }
    }
  }
  for (int k = 0; k < 4; ++k) {
    const int row = first_row + threadIdx.y + 8 * k, column = first_column + threadIdx.x;
    if (row < n && column < n) result[static_cast<std::size_t>(row) * n + column] = sum[k];
  }
}

/// Calls work(i) with the position i in `sizes` as a constant, for each of them.
template <typename Work>
void for_each_size(Work work) {
  [&]<std::size_t... i>(std::index_sequence<i...>) { (work(std::integral_constant<std::size_t, i>()), ...); }
  (std::make_index_sequence<sizes.size()>());
}

/// The weights of a filter in the first rows and columns of a picture, its middle in the corner, times `scale`.
std::vector<float> response_of(int filter_size, int n, float scale) {
  std::vector<float> response(static_cast<std::size_t>(n) * n);
  for (int j = 0; j < filter_size; ++j) {
    for (int i = 0; i < filter_size; ++i) {
      const int y = (j - filter_size / 2 + n) % n, x = (i - filter_size / 2 + n) % n;
      response[static_cast<std::size_t>(y) * n + x] = number(2, j * filter_size + i) * scale;
    }
  }
  return response;
}

/// The same filter by FFTW on one core.
class OnProcessor {
 public:
  OnProcessor(int n, const std::vector<float>& response)
      : values_(response), spectrum_(static_cast<std::size_t>(n) * (n / 2 + 1)) {
    auto* complex = reinterpret_cast<fftwf_complex*>(spectrum_.data());
    forward_ = fftwf_plan_dft_r2c_2d(n, n, values_.data(), complex, FFTW_ESTIMATE);
    inverse_ = fftwf_plan_dft_c2r_2d(n, n, complex, values_.data(), FFTW_ESTIMATE);
    fftwf_execute(forward_);
    response_spectrum_ = spectrum_;
  }
  ~OnProcessor() {
    fftwf_destroy_plan(forward_);
    fftwf_destroy_plan(inverse_);
  }
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;

  const std::vector<float>& run(const std::vector<float>& picture) {
    values_ = picture;
    fftwf_execute(forward_);
    for (std::size_t i = 0; i < spectrum_.size(); ++i) spectrum_[i] *= response_spectrum_[i];
    fftwf_execute(inverse_);
    return values_;
  }

 private:
  std::vector<float> values_;
  std::vector<std::complex<float>> spectrum_, response_spectrum_;
  fftwf_plan forward_, inverse_;
};

}  // namespace

int main(int argc, char** argv) {
  int n = 4096, rounds = 11;
  cookbook::Options options("Measure filters by FFT and by their definition");
  options.add("size", n, "rows and columns of the picture; an odd number is rounded up", 64, 16'384);
  options.add("rounds", rounds, "measurements of each row", 1, 1001);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  n += n % 2;

  const std::size_t pixels = static_cast<std::size_t>(n) * n, pairs = static_cast<std::size_t>(n) * (n / 2 + 1) / 2;
  const float scale = 1 / static_cast<float>(pixels);
  const std::vector<float> picture = gpu::random_numbers(1, pixels);
  const gpu::DeviceArray<float> source(picture);
  gpu::DeviceArray<float> in(picture), out(pixels), response(pixels);
  gpu::DeviceArray<float4> spectrum(pairs), response_spectrum(pairs);
  cufftHandle forward, inverse;
  CUFFT_CHECK(cufftPlan2d(&forward, n, n, CUFFT_R2C));
  CUFFT_CHECK(cufftPlan2d(&inverse, n, n, CUFFT_C2R));
  auto* const complex = reinterpret_cast<cufftComplex*>(spectrum.data());

  const auto set_filter = [&](int size) {
    const std::vector<float> values = gpu::random_numbers(2, static_cast<std::size_t>(size) * size);
    CUDA_CHECK(cudaMemcpyToSymbol(weights, values.data(), values.size() * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(response.data(), response_of(size, n, scale).data(), pixels * sizeof(float),
                          cudaMemcpyHostToDevice));
    CUFFT_CHECK(cufftExecR2C(forward, response.data(), reinterpret_cast<cufftComplex*>(response_spectrum.data())));
  };
  const auto transform = [&] {
    CUFFT_CHECK(cufftExecR2C(forward, in.data(), complex));
    CUFFT_CHECK(cufftExecC2R(inverse, complex, out.data()));
  };
  const auto by_fft = [&] {
    CUFFT_CHECK(cufftExecR2C(forward, in.data(), complex));
    multiply<<<static_cast<unsigned>((pairs + 255) / 256), 256>>>(spectrum.data(), response_spectrum.data(), pairs);
    CUDA_CHECK(cudaGetLastError());
    CUFFT_CHECK(cufftExecC2R(inverse, complex, out.data()));
  };
  const std::string callback = compile_callback();
  void* second_factor = response_spectrum.data();
  const std::optional<cufftHandle> inverse_of_product = plan_with_callback(n, callback, &second_factor);
  const auto by_callback = [&] {
    CUFFT_CHECK(cufftExecR2C(forward, in.data(), complex));
    CUFFT_CHECK(cufftExecC2R(*inverse_of_product, complex, out.data()));
  };
  ByStrips by_strips(n, 8, in.data(), reinterpret_cast<float2*>(spectrum.data()),
                     reinterpret_cast<const float2*>(response_spectrum.data()), out.data());
  const auto directly = [&]<int size>(std::integral_constant<int, size>) {
    const dim3 blocks((n + 31) / 32, (n + 31) / 32);
    convolve_directly<size><<<blocks, dim3(32, 8)>>>(source.data(), out.data(), n);
    CUDA_CHECK(cudaGetLastError());
  };

  // Rounding grows with the size of the sum: random weights of up to 1 add up to about half their number.
  cookbook::Checks checks;
  const auto largest_difference = [&](const std::vector<float>& a, const std::vector<float>& b) {
    float largest_so_far = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const float difference = std::abs(a[i] - b[i]);
      if (!(difference <= largest_so_far)) largest_so_far = difference;  // also if it is not a number
    }
    return largest_so_far;
  };
  for_each_size([&](auto i) {
    constexpr int size = sizes[i];
    set_filter(size);
    out.poison();
    by_fft();
    const std::vector<float> fft_result = out.to_host();
    out.poison();
    by_strips.start();
    const std::vector<float> strips_result = out.to_host();
    std::vector<float> callback_result;
    out.poison();
    if (inverse_of_product) {
      by_callback();
      callback_result = out.to_host();
    }
    out.poison();
    directly(std::integral_constant<int, size>());
    const std::vector<float> expected = out.to_host();
    checks.within(fmt::format("{0} x {0}, largest difference between FFT and definition", size),
                  largest_difference(fft_result, expected), 0.0F, 1e-5F * size * size);
    checks.within(fmt::format("{0} x {0}, the columns in strips", size), largest_difference(strips_result, expected),
                  0.0F, 1e-5F * size * size);
    if (inverse_of_product) {
      checks.within(fmt::format("{0} x {0}, with a callback", size), largest_difference(callback_result, expected),
                    0.0F, 1e-5F * size * size);
    }
  });
  OnProcessor processor(n, response_of(largest, n, scale));
  checks.within("largest difference between FFTW and the definition",
                largest_difference(processor.run(picture), out.to_host()), 0.0F, 1e-5F * largest * largest);

  const double amount = static_cast<double>(pixels);
  std::vector<cookbook::Benchmark> rows = {
      gpu::timed_row("cuFFT, there and back", amount, transform),
      gpu::timed_row("the same with the product", amount, by_fft),
      gpu::timed_row("the columns in strips", amount, [&] { by_strips.start(); }),
      {"FFTW with the product, one core", amount, [&] { processor.run(picture); }}};
  if (inverse_of_product) rows.push_back(gpu::timed_row("the product in a callback", amount, by_callback));
  const std::size_t first_direct = rows.size();
  for_each_size([&](auto i) {
    constexpr int size = sizes[i];
    rows.push_back(gpu::timed_row(fmt::format("definition, filter of {0} x {0}", size), amount,
                                  [&] { directly(std::integral_constant<int, size>()); }));
  });
  const std::vector<cookbook::Timing> timings = cookbook::run_interleaved(rows, rounds);
  cookbook::Figures figures(fmt::format("picture of {0} x {0} pixels", n), cookbook::rate("G pixels/s", 1e9),
                            gpu::device());
  for (std::size_t i = 0; i < rows.size(); ++i) figures.add(rows[i].name, timings[i], amount);
  figures.percent_of("cuFFT, there and back", "cuFFT");
  figures.speedup_over("the same with the product", "FFT filter");
  figures.print(checks);
  if (!checks.passed()) return checks.exit_code();
  std::size_t slower = 0;
  while (slower < sizes.size() && timings[first_direct + slower].median <= timings[1].median) ++slower;
  if (slower < sizes.size()) {
    cookbook::println("The FFT is faster from a filter of {0} x {0} on", sizes[slower]);
  } else {
    cookbook::println("The FFT is slower for all of these filters");
  }

  CUFFT_CHECK(cufftDestroy(forward));
  CUFFT_CHECK(cufftDestroy(inverse));
  if (inverse_of_product) CUFFT_CHECK(cufftDestroy(*inverse_of_product));
  return checks.exit_code();
}
