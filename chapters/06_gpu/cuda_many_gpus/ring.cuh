/// Workers on one or several devices, and the sum of their arrays by a ring of copies.
#pragma once

#include <cstddef>
#include <deque>

#include "cookbook/cuda.hpp"

/// Makes a device the one that the following calls of this thread are for, and returns it.
inline int use_device(int device) {
  CUDA_CHECK(cudaSetDevice(device));
  return device;
}

/// An array on a device with room for one that it receives, and a stream for the work on them.
struct Worker {
  /// Chooses the device first, since the arrays are allocated on the current one.
  Worker(int on_device, std::size_t count) : device(use_device(on_device)), data(count), received(count) {
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (cudaEvent_t& event : step_done) CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  }
  ~Worker() {
    cudaStreamSynchronize(stream);
    for (const cudaEvent_t event : step_done) cudaEventDestroy(event);
    cudaStreamDestroy(stream);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const int device;
  gpu::DeviceArray<float> data, received;  ///< `received` is room for what the neighbour sends
  cudaStream_t stream = nullptr;
  cudaEvent_t step_done[2] = {};                   ///< of the even and of the odd steps
  std::size_t bytes_received = 0, bytes_sent = 0;  ///< by all copies that were queued
};

using Workers = std::deque<Worker>;  // a Worker cannot be moved, and a deque does not move its elements

/// Lets the devices read and write each other's memory where the machine allows it. Without it, copies from one to
/// another still work, but go through the memory of the host.
inline void enable_peer_access(int devices) {
  for (int device = 0; device < devices; ++device) {
    use_device(device);
    for (int peer = 0; peer < devices; ++peer) {
      int possible = 0;
      if (peer != device) CUDA_CHECK(cudaDeviceCanAccessPeer(&possible, device, peer));
      if (possible) CUDA_CHECK(cudaDeviceEnablePeerAccess(peer, 0));
    }
  }
}

/// So many workers, dealt out among so many devices.
inline Workers make_workers(int workers, int devices, std::size_t count) {
  Workers made;
  for (int i = 0; i < workers; ++i) made.emplace_back(i % devices, count);
  return made;
}

inline void synchronize(const Workers& workers) {
  for (const Worker& worker : workers) CUDA_CHECK(cudaStreamSynchronize(worker.stream));
}

/// Queues a copy of numbers `first` to `first + count - 1` of another worker's data.
inline void receive(Worker& worker, float* target, Worker& from, std::size_t first, std::size_t count) {
  CUDA_CHECK(
      cudaMemcpyAsync(target, from.data.data() + first, count * sizeof(float), cudaMemcpyDefault, worker.stream));
  worker.bytes_received += count * sizeof(float);
  from.bytes_sent += count * sizeof(float);
}

__global__ void add(float* sum, const float* other, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) sum[i] += other[i];
}

/// Queues what makes every worker's `data` the sum of all of them; synchronize() waits for it. The data must be ready.
/// In each of 2 * (n - 1) steps every worker gets one of n chunks from its left neighbour. In the first half it adds
/// the chunk to its own, and then it has the whole sum of one chunk. In the second half what it gets is a whole sum,
/// and it keeps it. That overwrites a chunk which the right neighbour read n - 1 steps before; in so many steps the
/// waits have gone around the ring, so no further event is needed.
inline void ring_all_reduce(Workers& workers) {
  const int n = static_cast<int>(workers.size());
  for (int step = 0; step < 2 * (n - 1); ++step) {
    for (int i = 0; i < n; ++i) {
      Worker &worker = workers[i], &left = workers[(i + n - 1) % n];
      const int chunk = (i - 1 - step + 2 * n) % n;  // the one that the neighbour has just finished; in step 0 its own
      const std::size_t size = worker.data.size(), first = size * chunk / n, count = size * (chunk + 1) / n - first;
      float* const mine = worker.data.data() + first;
      float* const target = step < n - 1 ? worker.received.data() + first : mine;

      use_device(worker.device);
      if (step > 0) CUDA_CHECK(cudaStreamWaitEvent(worker.stream, left.step_done[(step - 1) % 2]));
      receive(worker, target, left, first, count);
      if (target != mine && count > 0) {
        add<<<static_cast<unsigned>((count + 255) / 256), 256, 0, worker.stream>>>(mine, target, count);
        CUDA_CHECK(cudaGetLastError());
      }
      CUDA_CHECK(cudaEventRecord(worker.step_done[step % 2], worker.stream));
    }
  }
}
