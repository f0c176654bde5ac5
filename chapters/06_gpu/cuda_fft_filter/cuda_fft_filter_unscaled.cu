// Pitfall: there and back without a division
//
// Transforms a picture of 512 x 512 pixels and transforms it back. cuFFT leaves the division by the number of pixels to
// its caller, and so do FFTW and other libraries; NumPy's ifft2 divides. No call fails.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_fft_filter/cuda_fft_filter_unscaled.cu common/cookbook/*.cpp -lcufft -lfmt -o cuda_fft_filter_unscaled
// Run:     cuda_fft_filter_unscaled
// Symptom: exit 1, prints "the picture is 262144 times as bright as before"

#include <cufft.h>

#include <cmath>
#include <numeric>

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"
#include "filter.hpp"

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  constexpr int size = 512;
  const Picture before = rings(size, size);
  gpu::DeviceArray<float> device(before.shades);
  gpu::DeviceArray<cufftComplex> spectrum(size * (size / 2 + 1));
  cufftHandle forward, inverse;
  CUFFT_CHECK(cufftPlan2d(&forward, size, size, CUFFT_R2C));
  CUFFT_CHECK(cufftPlan2d(&inverse, size, size, CUFFT_C2R));

  CUFFT_CHECK(cufftExecR2C(forward, device.data(), spectrum.data()));
  CUFFT_CHECK(cufftExecC2R(inverse, spectrum.data(), device.data()));
  // Missing: a division of every pixel by size * size.

  const std::vector<float> after = device.to_host();
  CUFFT_CHECK(cufftDestroy(forward));
  CUFFT_CHECK(cufftDestroy(inverse));
  const auto sum = [](const std::vector<float>& shades) { return std::accumulate(shades.begin(), shades.end(), 0.0); };
  const long times = std::lround(sum(after) / sum(before.shades));
  cookbook::println("the picture is {} times as bright as before", times);
  return times == 1 ? 0 : 1;
}
