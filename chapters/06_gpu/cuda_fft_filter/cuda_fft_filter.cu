// Filter by fast Fourier transform
//
// Filters a picture on the GPU by cuFFT: transform picture and filter, multiply the two spectra, transform back. That
// gives the circular convolution, in which the picture is continued by its opposite edge. With a border of zeros below
// the picture and to its right it becomes the ordinary one. The processor filters the picture by the definition; both
// must agree.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_fft_filter/cuda_fft_filter.cu common/cookbook/*.cpp -lcufft -lpng -lfmt -o cuda_fft_filter
// Run:     cuda_fft_filter [--rows N] [--columns N] [--png FILE]

#include <cufft.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
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
  // The remainders differ from the sums only without a border.
  const int from_row = (row + reach) % padded_rows, from_column = (column + reach) % padded_columns;
  result[row * columns + column] = padded[from_row * padded_columns + from_column] / (padded_rows * padded_columns);
}

dim3 blocks_for(const Picture& picture) { return {(picture.columns + 31U) / 32, (picture.rows + 7U) / 8}; }

/// Filters the picture, with `border` rows and columns of zeros after its last ones.
Picture filtered_by_fft(const Picture& picture, int border) {
  const int rows = picture.rows + border, columns = picture.columns + border;
  const int spectrum_size = rows * (columns / 2 + 1);  // of real numbers: the other half is known from this one
  gpu::DeviceArray<float> padded(rows * columns), response(rows * columns), device_result(picture.shades.size());
  gpu::DeviceArray<cufftComplex> spectrum(spectrum_size), response_spectrum(spectrum_size);
  padded.zero();
  response.zero();
  const std::size_t row_bytes = picture.columns * sizeof(float), padded_row_bytes = columns * sizeof(float);
  // Row by row, since the rows of padded and response are longer.
  CUDA_CHECK(cudaMemcpy2D(padded.data(), padded_row_bytes, picture.shades.data(), row_bytes, row_bytes, picture.rows,
                          cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy2D(response.data(), padded_row_bytes, filter, sizeof(filter[0]), sizeof(filter[0]), filter_size,
                          cudaMemcpyHostToDevice));

  cufftHandle forward, inverse;  // plans: they depend on the size alone and can be used again
  CUFFT_CHECK(cufftPlan2d(&forward, rows, columns, CUFFT_R2C));
  CUFFT_CHECK(cufftPlan2d(&inverse, rows, columns, CUFFT_C2R));
  CUFFT_CHECK(cufftExecR2C(forward, padded.data(), spectrum.data()));
  CUFFT_CHECK(cufftExecR2C(forward, response.data(), response_spectrum.data()));
  multiply<<<(spectrum_size + 255) / 256, 256>>>(spectrum.data(), response_spectrum.data(), spectrum_size);
  CUDA_CHECK(cudaGetLastError());
  CUFFT_CHECK(cufftExecC2R(inverse, spectrum.data(), padded.data()));
  take_out<<<blocks_for(picture), dim3(32, 8)>>>(padded.data(), rows, columns, device_result.data(), picture.rows,
                                                 picture.columns);
  CUDA_CHECK(cudaGetLastError());
  CUFFT_CHECK(cufftDestroy(forward));
  CUFFT_CHECK(cufftDestroy(inverse));
  return {picture.rows, picture.columns, device_result.to_host()};
}

/// Whether no shade differs by more than 0.02, leaving out so many pixels at each edge.
bool close(const Picture& a, const Picture& b, int edge) {
  for (int row = edge; row < a.rows - edge; ++row) {
    for (int column = edge; column < a.columns - edge; ++column) {
      if (!(std::abs(a.at(row, column) - b.at(row, column)) <= 0.02F)) return false;
    }
  }
  return true;
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
  int rows = 512, columns = 512;
  std::string png;
  cookbook::Options options("Filter a picture by fast Fourier transform");
  options.add("rows", rows, "rows of the picture", 8, 8192);
  options.add("columns", columns, "columns of the picture", 8, 8192);
  options.add("png", png, "file for the picture before and after; none is written by default");
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const Picture picture = rings(rows, columns), expected = filtered_directly(picture);
  const Picture circular = filtered_by_fft(picture, 0), linear = filtered_by_fft(picture, filter_size - 1);
  const dim3 blocks = blocks_for(picture);
  cookbook::println("{} x {} blocks of 32 x 8 threads for {} rows and {} columns", blocks.x, blocks.y, rows, columns);

  Picture corner{8, 8}, wrapped{8, 8};  // one pixel of shade 1 in the corner, and what the circular form makes of it
  corner.at(0, 0) = 1;
  for (int j = 0; j < filter_size; ++j) {
    for (int i = 0; i < filter_size; ++i) wrapped.at((j - reach + 8) % 8, (i - reach + 8) % 8) = filter[j][i];
  }
  const Picture white{8, 8, std::vector<float>(64, 255)};
  const double sum = std::accumulate(circular.shades.begin(), circular.shades.end(), 0.0);

  cookbook::Checks checks;
  checks.that("with a border of zeros, every pixel is right", close(linear, expected, 0));
  checks.that("without, those 2 and more from the edge are right", close(circular, expected, reach));
  checks.that("without, some at the edge are wrong", !close(circular, expected, 0));
  checks.that("without, a pixel in the corner reaches the other corners",
              close(filtered_by_fft(corner, 0), wrapped, 0));
  checks.that("without, a white picture becomes 0", close(filtered_by_fft(white, 0), Picture{8, 8}, 0));
  checks.that("without, all pixels add up to 0", std::abs(sum) / (rows * columns) <= 0.01);
  if (!png.empty()) write_png(png, side_by_side(picture, linear), 2 * columns);
  return checks.exit_code();
}
