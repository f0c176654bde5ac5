/// Work in chunks: copy in, compute, copy out, on as many streams as there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cookbook/cuda.hpp"

/// Replaces each number x by 1664525 x + 1013904223, `steps` times: steps of a random number generator. The
/// compiler joins four of these steps into one, so they cost a quarter of so many multiplications.
__global__ void advance(std::uint32_t* numbers, std::size_t count, int steps) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  std::uint32_t number = numbers[i];
  for (int step = 0; step < steps; ++step) number = number * 1664525 + 1013904223;
  numbers[i] = number;
}

/// Where the numbers are: on the host, on the device, and where the results go on the host.
struct Buffers {
  const std::uint32_t* in;
  std::uint32_t* device;
  std::uint32_t* out;
  std::size_t count;
};

/// Queues copy in, kernel and copy out of each chunk of the numbers, chunk i on stream i modulo their number, with
/// events around the three: marks[4 * i] to marks[4 * i + 3]; marks[4 * chunks] is the start of all. All of it begins
/// after what is in streams[0] already, and what is put into streams[0] later begins after all of it. There are no more
/// streams than chunks.
inline void queue_chunks(const std::vector<cudaStream_t>& streams, const Buffers& buffers, int chunks, int steps,
                         const std::vector<cudaEvent_t>& marks) {
  CUDA_CHECK(cudaEventRecord(marks[4 * chunks], streams[0]));  // the other streams wait for this event
  for (std::size_t i = 1; i < streams.size(); ++i) CUDA_CHECK(cudaStreamWaitEvent(streams[i], marks[4 * chunks]));

  for (int chunk = 0; chunk < chunks; ++chunk) {
    const cudaStream_t stream = streams[chunk % streams.size()];
    const auto mark = [&](int i) { CUDA_CHECK(cudaEventRecord(marks[4 * chunk + i], stream)); };
    const std::size_t first = buffers.count * chunk / chunks, count = buffers.count * (chunk + 1) / chunks - first;
    const std::size_t bytes = count * sizeof(std::uint32_t), blocks = (count + 255) / 256;

    mark(0);
    CUDA_CHECK(cudaMemcpyAsync(buffers.device + first, buffers.in + first, bytes, cudaMemcpyHostToDevice, stream));
    mark(1);
    advance<<<static_cast<unsigned>(blocks), 256, 0, stream>>>(buffers.device + first, count, steps);
    CUDA_CHECK(cudaGetLastError());
    mark(2);
    CUDA_CHECK(cudaMemcpyAsync(buffers.out + first, buffers.device + first, bytes, cudaMemcpyDeviceToHost, stream));
    mark(3);
  }
  for (int chunk = 0; chunk < chunks; ++chunk) CUDA_CHECK(cudaStreamWaitEvent(streams[0], marks[4 * chunk + 3]));
}
