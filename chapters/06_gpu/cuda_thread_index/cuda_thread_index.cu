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

namespace {

struct Element {
  int visits;
  int block, thread;  // the numbers of its last visitor
};

/// One number for a position in a grid or a block: x counts fastest, then y, then z.
__host__ __device__ unsigned rank_in(dim3 box, uint3 position) {
  return position.x + box.x * (position.y + box.y * position.z);
}

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

/// Calls launch(elements), which starts a kernel for so many elements, and returns what it left.
template <typename Launch>
std::vector<Element> visited(unsigned count, Launch launch) {
  gpu::DeviceArray<Element> elements(count);
  elements.zero();
  launch(elements.data());
  CUDA_CHECK(cudaGetLastError());
  return elements.to_host();
}

long visited_once(const std::vector<Element>& elements) {
  return std::count_if(elements.begin(), elements.end(), [](const Element& element) { return element.visits == 1; });
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
  const unsigned in_picture = width * height, in_box = in_picture * depth;
  const auto row =
      visited(width, [&](Element* elements) { visit_row<<<grid_for(line, width), line>>>(elements, width); });
  const auto picture = visited(in_picture, [&](Element* elements) {
    visit_picture<<<grid_for(square, width, height), square>>>(elements, width, height);
  });
  const auto box = visited(in_box, [&](Element* elements) {
    visit_box<<<grid_for(cube, width, height, depth), cube>>>(elements, width, height, depth);
  });
  const auto in_strides = visited(in_box, [&](Element* elements) { visit_in_strides<<<4, line>>>(elements, in_box); });

  cookbook::Checks checks;
  checks.equal("elements of a row visited once", visited_once(row), width);
  checks.equal("elements of a picture visited once", visited_once(picture), in_picture);
  checks.equal("elements of a box visited once", visited_once(box), in_box);
  checks.equal("elements of a box visited once, by 4 blocks in strides", visited_once(in_strides), in_box);
  return checks.exit_code();
}
