// Which element is mine?
//
// Every thread of a kernel runs the same code; only its coordinates tell which element it should work on. Here are the
// usual ways from coordinates to elements: a row, a picture and a box with one thread per element, and a loop by which
// any number of threads handles any number of elements. Each thread leaves its numbers at its element, and the program
// prints them; every visit is counted, so an element that is left out or taken twice shows.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_thread_index/cuda_thread_index.cu common/cookbook/*.cpp -lfmt -o cuda_thread_index
// Run:     cuda_thread_index [--width N] [--height N] [--depth N]

#include <algorithm>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "thread_rank.cuh"

namespace {

struct Element {
  int visits;
  int block, thread;  // the numbers of its last visitor: see thread_rank.cuh
};

__device__ void visit(Element& element) {
  atomicAdd(&element.visits, 1);  // adds in one step, so that no visit is lost
  element.block = rank_in(gridDim, blockIdx);
  element.thread = rank_in(blockDim, threadIdx);
}

__global__ void visit_row(Element* elements, unsigned width) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < width) visit(elements[x]);
}

__global__ void visit_picture(Element* elements, unsigned width, unsigned height) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) visit(elements[y * width + x]);
}

__global__ void visit_box(Element* elements, unsigned width, unsigned height, unsigned depth) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < width && y < height && z < depth) visit(elements[(z * height + y) * width + x]);
}

/// The grid-stride loop: each thread goes on by as many elements as there are threads in the whole grid.
__global__ void visit_in_strides(Element* elements, unsigned count) {
  const unsigned threads = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) visit(elements[i]);
}

/// The smallest grid of such blocks that has a thread for each of width x height x depth elements.
dim3 grid_for(dim3 block, unsigned width, unsigned height = 1, unsigned depth = 1) {
  return {(width + block.x - 1) / block.x, (height + block.y - 1) / block.y, (depth + block.z - 1) / block.z};
}

/// Calls launch(elements), which starts a kernel, for so many elements and 1000 more behind them, and returns them.
template <typename Launch>
std::vector<Element> visited(unsigned count, Launch launch) {
  gpu::DeviceArray<Element> elements(count + 1000);
  elements.zero();
  launch(elements.data());
  CUDA_CHECK(cudaGetLastError());
  return elements.to_host();
}

/// How many of the first `count` elements were visited once, or -1 if one of the 1000 behind them was visited.
long visited_once(const std::vector<Element>& elements, unsigned count) {
  const auto with = [&](auto from, auto to, int visits) {
    return std::count_if(from, to, [&](const Element& element) { return element.visits == visits; });
  };
  const auto end = elements.begin() + count;
  return with(end, elements.end(), 0) == 1000 ? with(elements.begin(), end, 1) : -1;
}

/// Prints block and thread of each element, `width` of them per line.
void print(const char* what, const std::vector<Element>& elements, unsigned width, unsigned height) {
  cookbook::println("{}", what);
  for (unsigned y = 0; y < height; ++y) {
    std::string line;
    for (unsigned x = 0; x < width; ++x) {
      line += fmt::format(" {}.{}", elements[y * width + x].block, elements[y * width + x].thread);
    }
    cookbook::println(" {}", line);
  }
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

  const dim3 four(4), rectangle(4, 2);  // shapes of small blocks
  print("row of 10, blocks of 4 threads",
        visited(10, [&](Element* row) { visit_row<<<grid_for(four, 10), four>>>(row, 10); }), 10, 1);
  print("row of 10, 2 blocks in strides", visited(10, [&](Element* row) { visit_in_strides<<<2, four>>>(row, 10); }),
        10, 1);
  print("picture of 7 x 3, blocks of 4 x 2",
        visited(21, [&](Element* picture) { visit_picture<<<grid_for(rectangle, 7, 3), rectangle>>>(picture, 7, 3); }),
        7, 3);

  const dim3 line(256), square(16, 16), cube(8, 8, 4);  // 256 threads each
  const unsigned picture = width * height, box = picture * depth;
  const auto in_row = [&](Element* elements) { visit_row<<<grid_for(line, width), line>>>(elements, width); };
  const auto in_picture = [&](Element* elements) {
    visit_picture<<<grid_for(square, width, height), square>>>(elements, width, height);
  };
  const auto in_box = [&](Element* elements) {
    visit_box<<<grid_for(cube, width, height, depth), cube>>>(elements, width, height, depth);
  };
  const auto in_strides = [&](Element* elements) { visit_in_strides<<<4, line>>>(elements, box); };

  cookbook::Checks checks;
  checks.equal("elements of a row visited once", visited_once(visited(width, in_row), width), width);
  checks.equal("elements of a picture visited once", visited_once(visited(picture, in_picture), picture), picture);
  checks.equal("elements of a box visited once", visited_once(visited(box, in_box), box), box);
  checks.equal("elements of a box visited once, by 4 blocks in strides", visited_once(visited(box, in_strides), box),
               box);
  return checks.exit_code();
}
