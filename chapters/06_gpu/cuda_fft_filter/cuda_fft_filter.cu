// Filter by fast Fourier transform
//
// Filters a picture on the GPU by cuFFT: transform picture and filter, multiply the two spectra, transform back. That
// takes the picture as one tile of an endless pattern, so what the filter would reach beyond an edge comes from the
// opposite edge. Zeros below the picture and to its right keep the edges apart. The program tries several numbers of
// them, and shows how many pixels are wrong, and how long the device takes. The time depends on the prime factors of
// rows and columns; the largest stands beside it.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_fft_filter/cuda_fft_filter.cu common/cookbook/*.cpp -lcufft -lpng -lfmt -o cuda_fft_filter
// Run:     cuda_fft_filter [--rows N] [--columns N] [--png FILE]

#include <cufft.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "fastest.hpp"
#include "filter.hpp"
#include "write_png.hpp"

namespace {

__global__ void multiply(cufftComplex* a, const cufftComplex* b, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) a[i] = make_float2(a[i].x * b[i].x - a[i].y * b[i].y, a[i].x * b[i].y + a[i].y * b[i].x);
}

/// Takes the picture out of the larger one: the filter's middle, not its corner, belongs on each pixel. cuFFT does not
/// divide by the number of pixels, so this is done here.
__global__ void take_out(const float* padded, int padded_rows, int padded_columns, float* result, int rows,
                         int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns) return;
  // The remainders differ from the sums only where there are fewer zeros than the filter reaches.
  const int from_row = (row + reach) % padded_rows, from_column = (column + reach) % padded_columns;
  result[row * columns + column] = padded[from_row * padded_columns + from_column] / (padded_rows * padded_columns);
}

struct Filtered {
  Picture picture;
  double seconds;  ///< that the device took for the picture; the filter's spectrum is made before
};

/// Filters the picture with so many rows and columns of zeros after its last ones.
Filtered filtered_by_fft(const Picture& picture, int zeros) {
  const int rows = picture.rows + zeros, columns = picture.columns + zeros;
  const int spectrum_size = rows * (columns / 2 + 1);  // of real numbers: the other half is known from this one
  gpu::DeviceArray<float> padded(rows * columns), response(rows * columns), result(picture.shades.size());
  gpu::DeviceArray<cufftComplex> spectrum(spectrum_size), response_spectrum(spectrum_size);
  padded.zero();
  response.zero();
  result.poison();
  const std::size_t row_bytes = picture.columns * sizeof(float), padded_row_bytes = columns * sizeof(float);
  // Row by row, since the rows of padded and response are longer.
  CUDA_CHECK(cudaMemcpy2D(padded.data(), padded_row_bytes, picture.shades.data(), row_bytes, row_bytes, picture.rows,
                          cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy2D(response.data(), padded_row_bytes, filter, sizeof(filter[0]), sizeof(filter[0]), filter_size,
                          cudaMemcpyHostToDevice));

  cufftHandle forward, inverse;  // plans: they depend on the size alone and can be used again
  CUFFT_CHECK(cufftPlan2d(&forward, rows, columns, CUFFT_R2C));
  CUFFT_CHECK(cufftPlan2d(&inverse, rows, columns, CUFFT_C2R));
  CUFFT_CHECK(cufftExecR2C(forward, response.data(), response_spectrum.data()));
  const dim3 threads(32, 8), blocks((picture.columns + 31) / 32, (picture.rows + 7) / 8);
  gpu::DeviceArray<float> filtered(rows * columns);
  const double seconds = fastest_alone([&] {
    CUFFT_CHECK(cufftExecR2C(forward, padded.data(), spectrum.data()));
    multiply<<<(spectrum_size + 255) / 256, 256>>>(spectrum.data(), response_spectrum.data(), spectrum_size);
    CUDA_CHECK(cudaGetLastError());
    CUFFT_CHECK(cufftExecC2R(inverse, spectrum.data(), filtered.data()));
    take_out<<<blocks, threads>>>(filtered.data(), rows, columns, result.data(), picture.rows, picture.columns);
    CUDA_CHECK(cudaGetLastError());
  });
  CUFFT_CHECK(cufftDestroy(forward));
  CUFFT_CHECK(cufftDestroy(inverse));
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

/// Both pictures side by side.
std::vector<unsigned char> side_by_side(const Picture& before, const Picture& after) {
  std::vector<unsigned char> shades;
  for (int row = 0; row < before.rows; ++row) {
    for (int column = 0; column < before.columns; ++column) {
      shades.push_back(static_cast<unsigned char>(before.at(row, column)));
    }
    for (int column = 0; column < before.columns; ++column) {  // grey stands for 0
      shades.push_back(static_cast<unsigned char>(std::clamp(127.5F + after.at(row, column) / 32, 0.0F, 255.0F)));
    }
  }
  return shades;
}

}  // namespace

int main(int argc, char** argv) {
  int rows = 2048, columns = 2048;
  std::string png;
  cookbook::Options options("Filter a picture by fast Fourier transform");
  options.add("rows", rows, "rows of the picture", 8, 8192);
  options.add("columns", columns, "columns of the picture", 8, 8192);
  options.add("png", png, "file for the picture before and after; none is written by default");
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const Picture picture = rings(rows, columns);
  const Picture expected = filtered_directly(picture);

  cookbook::println("zeros   wrong pixels   transformed   largest prime factor     time");
  Picture without_zeros{rows, columns}, linear{rows, columns};
  int wrong = 0;
  for (const int zeros : {0, 1, reach, filter_size - 1, 8, 10}) {
    const Filtered result = filtered_by_fft(picture, zeros);
    const int differences = different(result.picture, expected);
    cookbook::println("{:5}   {:12}   {:>11}   {:20} {:5.0f} us", zeros, differences,
                      fmt::format("{} x {}", rows + zeros, columns + zeros),
                      largest_prime_factor(rows + zeros, columns + zeros), result.seconds * 1e6);
    if (zeros == 0) without_zeros = result.picture;
    if (zeros == reach) linear = result.picture;
    if (zeros >= reach) wrong += differences;
  }

  cookbook::Checks checks;
  checks.equal("wrong pixels with as many zeros as the filter reaches, or more", wrong, 0);
  checks.equal("wrong pixels without zeros, 2 and more from the edge", different(without_zeros, expected, reach), 0);
  checks.equal("pixels without zeros that do not fit an endless pattern",
               different(without_zeros, filtered_directly(picture, true)), 0);
  if (!png.empty()) write_png(png, side_by_side(picture, linear), 2 * columns);
  return checks.exit_code();
}
