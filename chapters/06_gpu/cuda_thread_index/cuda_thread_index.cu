// Which element is mine?
//
// Every thread of a kernel runs the same code; only its coordinates tell which element it should work on. Here are the
// usual ways from coordinates to elements: a row, a picture and a box with one thread per element, and a loop by which
// any number of threads handles any number of elements. Every visit to an element is counted, so a wrong index shows as
// an element with no visit or with two.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_thread_index/cuda_thread_index.cu common/cookbook/*.cpp -lfmt -o cuda_thread_index
// Run:     cuda_thread_index [--width N] [--height N] [--depth N]

#include <algorithm>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"

namespace {

__global__ void visit_row(int* visits, unsigned width) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < width) atomicAdd(&visits[x], 1);  // adds in one step, so that no visit is lost
}

__global__ void visit_picture(int* visits, unsigned width, unsigned height) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) atomicAdd(&visits[y * width + x], 1);
}

__global__ void visit_box(int* visits, unsigned width, unsigned height, unsigned depth) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < width && y < height && z < depth) atomicAdd(&visits[(z * height + y) * width + x], 1);
}

/// The grid-stride loop: each thread goes on by as many elements as there are threads in the whole grid.
__global__ void visit_in_strides(int* visits, unsigned count) {
  const unsigned threads = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) atomicAdd(&visits[i], 1);
}

/// The smallest grid of such blocks that has a thread for each of width x height x depth elements.
dim3 grid_for(dim3 block, unsigned width, unsigned height = 1, unsigned depth = 1) {
  return {(width + block.x - 1) / block.x, (height + block.y - 1) / block.y, (depth + block.z - 1) / block.z};
}

/// Calls launch(visits), which starts a kernel. Returns how many of `count` elements were visited exactly once, or -1
/// if one of the 1000 elements behind them was visited.
template <typename Launch>
long visited_once(unsigned count, Launch launch) {
  gpu::DeviceArray<int> device_visits(count + 1000);
  device_visits.zero();
  launch(device_visits.data());
  CUDA_CHECK(cudaGetLastError());
  const std::vector<int> visits = device_visits.to_host();
  const auto end = visits.begin() + count;
  return std::count(end, visits.end(), 0) == 1000 ? std::count(visits.begin(), end, 1) : -1;
}

}  // namespace

int main(int argc, char** argv) {
  unsigned width = 1000, height = 30, depth = 5;
  cookbook::Options options("Find each thread's element in one, two and three dimensions");
  options.add("width", width, "elements of a row", 1, 10'000);
  options.add("height", height, "rows of a picture", 1, 1'000);
  options.add("depth", depth, "layers of a box", 1, 10);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const dim3 line(256), square(16, 16), cube(8, 8, 4);  // shapes of a block, 256 threads each
  const unsigned picture = width * height, box = picture * depth;
  const auto in_row = [&](int* visits) { visit_row<<<grid_for(line, width), line>>>(visits, width); };
  const auto in_picture = [&](int* visits) {
    visit_picture<<<grid_for(square, width, height), square>>>(visits, width, height);
  };
  const auto in_box = [&](int* visits) {
    visit_box<<<grid_for(cube, width, height, depth), cube>>>(visits, width, height, depth);
  };
  const auto in_strides = [&](int* visits) { visit_in_strides<<<4, line>>>(visits, box); };

  cookbook::Checks checks;
  checks.equal("elements of a row visited once", visited_once(width, in_row), width);
  checks.equal("elements of a picture visited once", visited_once(picture, in_picture), picture);
  checks.equal("elements of a box visited once", visited_once(box, in_box), box);
  checks.equal("... by 4 blocks in strides", visited_once(box, in_strides), box);
  return checks.exit_code();
}
