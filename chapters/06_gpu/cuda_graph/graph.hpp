/// A CUDA graph: work that is recorded once and started with one call, as often as one likes.
#pragma once

#include <cstddef>

#include "cookbook/cuda.hpp"

class Graph {
 public:
  /// Records what `queue()` puts into `stream`. Nothing of it runs yet. `queue` must not throw, since the stream would
  /// go on recording (gpu::RecordedWork takes care of that).
  template <typename Queue>
  Graph(cudaStream_t stream, Queue queue) {
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    queue();  // what it puts into the stream is recorded
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
  cudaGraph_t recorded_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};
