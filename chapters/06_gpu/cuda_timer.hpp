/// Measuring time on the device.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cookbook/measure.hpp"
#include "cuda_check.hpp"

namespace gpu {

/// Two events on a stream, and the time between them as the device itself records it. A clock on the host would measure
/// how long it takes to queue the work.
class EventTimer {
 public:
  EventTimer() {
    CUDA_CHECK(cudaEventCreate(&start_));
    CUDA_CHECK(cudaEventCreate(&stop_));
  }
  ~EventTimer() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  void start(cudaStream_t stream = nullptr) { CUDA_CHECK(cudaEventRecord(start_, stream)); }

  /// Waits until the stream has done what was queued since start(), and returns how long the device took, in seconds.
  double stop(cudaStream_t stream = nullptr) {
    float milliseconds = 0;
    CUDA_CHECK(cudaEventRecord(stop_, stream));
    CUDA_CHECK(cudaEventSynchronize(stop_));
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

/// A row of a measurement whose `work()` queues kernels on the default stream. For work that takes 50 us and more:
/// below that, the host cannot queue kernels as fast as the device runs them, and a graph_row is right.
template <typename Work>
cookbook::Benchmark timed_row(std::string name, double amount, Work work) {
  return {std::move(name), amount, [work = std::move(work)]() mutable {
            EventTimer timer;
            timer.start();
            work();
            return timer.stop();
          }};
}

/// A row whose `work(stream)` queues kernels on the given stream. The work is recorded `repeats` times in a CUDA graph,
/// which the device then runs without the host. The row's time is that of one repetition. All that `work` calls must be
/// allowed during a capture: no allocation, no waiting.
template <typename Work>
cookbook::Benchmark graph_row(std::string name, double amount, Work work, int repeats = 20) {
  struct Graph {
    Graph(Work& work, int repeats) {
      CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      for (int i = 0; i < repeats; ++i) work(stream);
      CUDA_CHECK(cudaStreamEndCapture(stream, &recorded));
      CUDA_CHECK(cudaGraphInstantiate(&ready, recorded, 0));
    }
    ~Graph() {
      cudaGraphExecDestroy(ready);
      cudaGraphDestroy(recorded);
      cudaStreamDestroy(stream);
    }
    cudaStream_t stream = nullptr;
    cudaGraph_t recorded = nullptr;
    cudaGraphExec_t ready = nullptr;
    EventTimer timer;
  };
  return {std::move(name), amount, [work = std::move(work), repeats, graph = std::shared_ptr<Graph>()]() mutable {
            if (!graph) {
              CUDA_CHECK(cudaDeviceSynchronize());  // what was queued on other streams, such as the inputs, is done
              graph = std::make_shared<Graph>(work, repeats);
            }
            graph->timer.start(graph->stream);
            CUDA_CHECK(cudaGraphLaunch(graph->ready, graph->stream));
            return graph->timer.stop(graph->stream) / repeats;
          }};
}

}  // namespace gpu
