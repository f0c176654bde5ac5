/// A CUDA graph: work that is recorded once and started with one call, as often as one likes.
#pragma once

#include <cstddef>

#include "cookbook/cuda.hpp"

class Graph {
 public:
  /// Records what `queue()` puts into `stream`. Nothing of it runs yet.
  template <typename Queue>
  Graph(cudaStream_t stream, Queue queue) {
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    record(stream, queue);
    CUDA_CHECK(cudaStreamEndCapture(stream, &recorded_));
    CUDA_CHECK(cudaGraphInstantiate(&executable_, recorded_, 0));  // checks it and prepares it for the device
  }
  ~Graph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(recorded_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Puts all of it into a stream, with one call.
  void launch(cudaStream_t stream) { CUDA_CHECK(cudaGraphLaunch(executable_, stream)); }

  /// How many operations have been recorded, such as kernels, copies and memsets.
  std::size_t operations() const {
    std::size_t count = 0;
    CUDA_CHECK(cudaGraphGetNodes(recorded_, nullptr, &count));
    return count;
  }

 private:
  /// Calls queue(), which may throw: then the stream must not go on recording.
  template <typename Queue>
  static void record(cudaStream_t stream, Queue& queue) {
    try {
      queue();
    } catch (...) {
      cudaGraph_t unfinished = nullptr;
      cudaStreamEndCapture(stream, &unfinished);
      if (unfinished != nullptr) cudaGraphDestroy(unfinished);
      throw;
    }
  }

  cudaGraph_t recorded_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};
