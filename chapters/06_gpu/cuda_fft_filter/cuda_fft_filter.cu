// Filter by fast Fourier transform
//
// Filters a picture on the GPU by cuFFT: transform picture and filter, multiply the two spectra, transform back. That
// takes the picture as one tile of an endless pattern, so what the filter would reach beyond an edge comes from the
// opposite edge. Zeros below the picture and to its right keep the edges apart. The program tries several numbers of
// them, and shows how many pixels are wrong, and how long the device takes. The time depends on the prime factors of
// rows and columns; the largest stands beside it.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_fft_filter/cuda_fft_filter.cu common/cookbook/*.cpp -lcufft -lfmt -o cuda_fft_filter
// Run:     cuda_fft_filter [--rows N] [--columns N]

#include <cufft.h>

#include <algorithm>
#include <cmath>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "fastest.hpp"
#include "filter.hpp"

namespace {

__global__ void multiply(cufftComplex* a, const cufftComplex* b, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) a[i] = cuCmulf(a[i], b[i]);
}

struct Plans {
  cufftHandle forward, inverse;
};

/// The filter: `response_spectrum` is its spectrum. The result is as large as `padded`, and not divided yet.
void convolve(const Plans& plans, gpu::DeviceArray<float>& padded, gpu::DeviceArray<cufftComplex>& spectrum,
              const gpu::DeviceArray<cufftComplex>& response_spectrum, gpu::DeviceArray<float>& filtered) {
  const int size = static_cast<int>(spectrum.size());
  CUFFT_CHECK(cufftExecR2C(plans.forward, padded.data(), spectrum.data()));
  multiply<<<(size + 255) / 256, 256>>>(spectrum.data(), response_spectrum.data(), size);
  CUDA_CHECK(cudaGetLastError());
  CUFFT_CHECK(cufftExecC2R(plans.inverse, spectrum.data(), filtered.data()));
}

/// Cuts the picture out of the larger one, and scales it.
__global__ void crop(const float* padded, int padded_columns, float scale, float* result, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && column < columns) result[row * columns + column] = padded[row * padded_columns + column] * scale;
}

/// What the filter makes of a single pixel of 1 at the beginning of an endless pattern: the filter, its middle at row
/// and column 0. What lies above and to the left of it is at the other end.
Picture response_of(int rows, int columns) {
  Picture response{rows, columns};
  for (int j = 0; j < filter_size; ++j) {
    for (int i = 0; i < filter_size; ++i) {
      response.at((j - reach + rows) % rows, (i - reach + columns) % columns) = filter[j][i];
    }
  }
  return response;
}

struct Filtered {
  Picture picture;
  double seconds;  ///< that the device took, with the picture among its zeros and the filter's spectrum there already
};

/// Filters the picture with so many rows and columns of zeros after its last ones.
Filtered filtered_by_fft(const Picture& picture, int zeros) {
  const int rows = picture.rows + zeros, columns = picture.columns + zeros;
  const int spectrum_size = rows * (columns / 2 + 1);  // of real numbers: the other half is known from this one
  gpu::DeviceArray<float> response(response_of(rows, columns).shades);
  gpu::DeviceArray<float> padded(rows * columns), filtered(rows * columns), result(picture.shades.size());
  gpu::DeviceArray<cufftComplex> spectrum(spectrum_size), response_spectrum(spectrum_size);
  padded.zero();
  result.poison();
  const std::size_t row_bytes = picture.columns * sizeof(float), padded_row_bytes = columns * sizeof(float);
  CUDA_CHECK(cudaMemcpy2D(padded.data(), padded_row_bytes, picture.shades.data(), row_bytes, row_bytes, picture.rows,
                          cudaMemcpyHostToDevice));  // row by row, since those of padded are longer

  Plans plans;  // they depend on the size alone and can be used again
  CUFFT_CHECK(cufftPlan2d(&plans.forward, rows, columns, CUFFT_R2C));
  CUFFT_CHECK(cufftPlan2d(&plans.inverse, rows, columns, CUFFT_C2R));
  CUFFT_CHECK(cufftExecR2C(plans.forward, response.data(), response_spectrum.data()));
  const float scale = 1.0F / static_cast<float>(rows * columns);  // cuFFT does not divide by the number of pixels
  const dim3 threads(32, 8), blocks((picture.columns + 31) / 32, (picture.rows + 7) / 8);
  const double seconds = fastest_alone([&] {
    convolve(plans, padded, spectrum, response_spectrum, filtered);
    crop<<<blocks, threads>>>(filtered.data(), columns, scale, result.data(), picture.rows, picture.columns);
    CUDA_CHECK(cudaGetLastError());
  });
  CUFFT_CHECK(cufftDestroy(plans.forward));
  CUFFT_CHECK(cufftDestroy(plans.inverse));
  return {{picture.rows, picture.columns, result.to_host()}, seconds};
}

/// How many pixels differ, leaving out so many at each edge. The right shades are whole numbers, and the transform
/// rounds; so a pixel is wrong if it is half a shade away.
int different(const Picture& a, const Picture& b, int edge = 0) {
  int count = 0;
  for (int row = edge; row < a.rows - edge; ++row) {
    for (int column = edge; column < a.columns - edge; ++column) {
      count += !(std::abs(a.at(row, column) - b.at(row, column)) < 0.5F);
    }
  }
  return count;
}

/// The largest prime number by which one of the two can be divided; they are greater than 1.
int largest_prime_factor(int rows, int columns) {
  int largest = 1;
  for (int length : {rows, columns}) {
    for (int factor = 2; length > 1; ++factor) {
      for (; length % factor == 0; length /= factor) largest = std::max(largest, factor);
    }
  }
  return largest;
}

}  // namespace

int main(int argc, char** argv) {
  int rows = 2048, columns = 2048;
  cookbook::Options options("Filter a picture by fast Fourier transform");
  options.add("rows", rows, "rows of the picture", 8, 8192);
  options.add("columns", columns, "columns of the picture", 8, 8192);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const Picture picture = rings(rows, columns);
  const Picture expected = filtered_directly(picture);

  cookbook::println("zeros   wrong pixels   size with zeros   largest prime factor     time");
  Picture without_zeros{rows, columns};
  int wrong = 0;
  for (const int zeros : {0, 1, reach, filter_size - 1, 8, 10}) {
    const Filtered result = filtered_by_fft(picture, zeros);
    const int differences = different(result.picture, expected);
    cookbook::println("{:5}   {:12}   {:>15}   {:20} {:5.0f} us", zeros, differences,
                      fmt::format("{} x {}", rows + zeros, columns + zeros),
                      largest_prime_factor(rows + zeros, columns + zeros), result.seconds * 1e6);
    if (zeros == 0) without_zeros = result.picture;
    if (zeros >= reach) wrong += differences;
  }

  cookbook::Checks checks;
  checks.equal("wrong pixels with as many zeros as the filter reaches, or more", wrong, 0);
  checks.equal("wrong pixels without zeros, 2 and more from the edge", different(without_zeros, expected, reach), 0);
  checks.equal("pixels without zeros that differ from those of an endless pattern",
               different(without_zeros, filtered_directly(picture, true)), 0);
  return checks.exit_code();
}
