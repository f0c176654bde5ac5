/// CUDA: checked calls, arrays in a device's memory, random numbers that host and device work out alike, and time.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/print.hpp"

/// Stands around every call of the CUDA runtime. If the call is refused, it names the call, the error and the line on
/// standard error and ends the program with exit code 3. CUDA_CHECK(cudaGetLastError()) after each kernel launch tells
/// whether it was started; what goes wrong while it runs is told by any later call.
#define CUDA_CHECK(call) ::gpu::check((call), cudaGetErrorString, #call, __FILE__, __LINE__)

/// The same for the calls of cuBLAS, cuFFT, cuRAND and NCCL; include the library's own header, too. cuFFT and cuRAND
/// have no texts for their errors: the numbers stand in cufft.h and curand.h.
#define CUBLAS_CHECK(call) ::gpu::check((call), cublasGetStatusString, #call, __FILE__, __LINE__)
#define CUFFT_CHECK(call) ::gpu::check((call), ::gpu::error_number, #call, __FILE__, __LINE__)
#define CURAND_CHECK(call) ::gpu::check((call), ::gpu::error_number, #call, __FILE__, __LINE__)
#define NCCL_CHECK(call) ::gpu::check((call), ncclGetErrorString, #call, __FILE__, __LINE__)

namespace gpu {

/// The exit code of a recipe that found no device.
constexpr int skipped = 77;

/// For NCCL, where all GPUs are in this machine; to be called before the first communicator is made. Otherwise NCCL
/// listens at an address that other machines can reach.
inline void keep_nccl_on_this_machine() { setenv("NCCL_SOCKET_IFNAME", "lo", 0); }

/// Ends the program with exit code 3; `error` is CUDA's own text.
[[noreturn]] inline void exit_with_error(std::string_view call, std::string_view error, std::string_view file,
                                         int line) {
  cookbook::print_error(fmt::format("{}: {} ({}:{})", call, error, file.substr(file.rfind('/') + 1), line));
  std::exit(3);
}

/// `status` is what `call` returned, and 0 if all went well; `text_of` makes a text of any other.
template <typename Status, typename TextOf>
void check(Status status, TextOf text_of, std::string_view call, std::string_view file, int line) {
  if (status != Status{}) exit_with_error(call, text_of(status), file, line);
}

inline std::string error_number(int status) { return fmt::format("error {}", status); }

/// Whether there is a device to run on. If not, says why in one line on standard error; the program then makes the
/// checks that need none and ends with without_device().
inline bool device_found(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver || error == cudaErrorStubLibrary) {
    int driver = 0;  // stays 0 if there is none; CUDA then calls the driver "insufficient"
    const bool known = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;
    cookbook::print_error(fmt::format("skipped, no CUDA device: {}",
                                      known ? cudaGetErrorString(error) : "no NVIDIA driver is installed"));
    return false;
  }
  check(error, cudaGetErrorString, "cudaGetDeviceCount(&devices)", file, line);
  return true;
}

/// The exit code of a program without a device: skipped, unless one of the checks made on the host has failed.
inline int without_device(const cookbook::Checks& checks) { return checks.passed() ? skipped : checks.exit_code(); }

/// Device and CUDA version in one line, such as "NVIDIA H200, 132 multiprocessors, CUDA 13.0".
inline std::string device() {
  int current = 0, version = 0;
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDevice(&current));
  CUDA_CHECK(cudaGetDeviceProperties(&properties, current));
  CUDA_CHECK(cudaRuntimeGetVersion(&version));
  return fmt::format("{}, {} multiprocessors, CUDA {}.{}", properties.name, properties.multiProcessorCount,
                     version / 1000, version % 1000 / 10);
}

/// How many multiprocessors the current device has.
inline int multiprocessors() {
  int device = 0, count = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

/// The highest clock rate of the current device's multiprocessors, in Hz.
inline double highest_clock() {
  int device = 0, khz = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, device));
  return khz * 1e3;
}

/// How many threads a multiprocessor holds at once, of the architecture that the compiler is making code for:
/// "Technical Specifications per Compute Capability" in the CUDA C++ Programming Guide. For __launch_bounds__, which
/// must not ask for more; host code, for which no architecture is known, gets the least.
#ifndef __CUDA_ARCH__
constexpr int threads_per_multiprocessor = 1024;
#elif __CUDA_ARCH__ == 750
constexpr int threads_per_multiprocessor = 1024;
#elif (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1100
constexpr int threads_per_multiprocessor = 1536;
#else
constexpr int threads_per_multiprocessor = 2048;
#endif

/// Bytes behind every DeviceArray, which nobody may change: none, unless a test has put COOKBOOK_GUARD=1 into the
/// environment.
inline std::size_t guard_bytes() {
  static const std::size_t bytes = std::getenv("COOKBOOK_GUARD") != nullptr ? 256 : 0;
  return bytes;
}

/// `size` values of type T in the device's memory.
template <typename T>
class DeviceArray {
 public:
  /// Leaves the values as they are found: nothing may be read before it is written. (With guard bytes they are found
  /// poisoned.) If there is not enough memory, the message names file and line of the caller.
  explicit DeviceArray(std::size_t size, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : size_(size) {
    check(cudaMalloc(&data_, size * sizeof(T) + guard_bytes()), cudaGetErrorString, "cudaMalloc", file, line);
    if (guard_bytes() == 0) return;
    CUDA_CHECK(cudaMemset(data_, 0xFF, size * sizeof(T) + guard_bytes()));
    CUDA_CHECK(cudaDeviceSynchronize());  // before work on any stream
  }

  explicit DeviceArray(const std::vector<T>& host, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : DeviceArray(host.size(), file, line) {
    CUDA_CHECK(cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }

  ~DeviceArray() {
    if (data_ != nullptr && guard_bytes() > 0) check_guard();
    cudaFree(data_);
  }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }

  /// Sets every bit, which makes a floating-point number a NaN and an integer -1: what a kernel fails to write shows.
  void poison() { CUDA_CHECK(cudaMemset(data_, 0xFF, size_ * sizeof(T))); }

  void zero() { CUDA_CHECK(cudaMemset(data_, 0, size_ * sizeof(T))); }

  /// Waits for the kernels started before on the default stream, and on streams that wait for it (all but those made
  /// with cudaStreamNonBlocking), and copies.
  std::vector<T> to_host() const {
    std::vector<T> host(size_);
    CUDA_CHECK(cudaMemcpy(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  /// Ends the program with exit code 1 if something was written behind the array.
  void check_guard() const {
    std::vector<unsigned char> guard(guard_bytes());
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemcpy(guard.data(), data_ + size_, guard.size(), cudaMemcpyDeviceToHost));
    if (std::count(guard.begin(), guard.end(), 0xFF) == static_cast<std::ptrdiff_t>(guard.size())) return;
    cookbook::print_error(fmt::format("something was written behind an array of {} values", size_));
    std::_Exit(1);
  }

  T* data_ = nullptr;
  std::size_t size_;
};

/// The random number with this index of the sequence `seed`, at least -1 and below 1. It is a hash of both, so that
/// thread i makes number i without the i numbers before it, and the host can work out any one of them again.
__host__ __device__ inline float random_number(std::uint32_t seed, std::uint32_t index) {
  std::uint32_t x = index + seed * 0x9E3779B9U;
  x = (x ^ (x >> 16)) * 0x7FEB352DU;
  x = (x ^ (x >> 15)) * 0x846CA68BU;
  x ^= x >> 16;
  return static_cast<float>(x >> 8) * 0x1p-23F - 1;
}

/// random_number(seed, 0) to random_number(seed, count - 1).
template <typename T = float>
std::vector<T> random_numbers(std::uint32_t seed, std::size_t count) {
  std::vector<T> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = random_number(seed, static_cast<std::uint32_t>(i));
  return numbers;
}

#ifdef __CUDACC__  // only nvcc knows what a kernel is; ordinary C++ leaves these out

/// How many blocks of so many threads the current device runs at once: those of one multiprocessor, on all of them.
template <typename... Arguments>
int resident_blocks(void (*kernel)(Arguments...), int threads) {
  int per_multiprocessor = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, threads, 0));
  return per_multiprocessor * multiprocessors();
}

/// The kernel of fill_random(): one thread per number.
template <typename T>
__global__ void set_random(T* numbers, std::size_t count, std::uint32_t seed) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = random_number(seed, static_cast<std::uint32_t>(i));
}

/// Makes the array's numbers those of random_numbers(seed, size). Queued on the default stream.
template <typename T>
void fill_random(DeviceArray<T>& numbers, std::uint32_t seed) {
  const std::size_t count = numbers.size();
  set_random<<<static_cast<unsigned>((count + 255) / 256), 256>>>(numbers.data(), count, seed);
  CUDA_CHECK(cudaGetLastError());
}

#endif

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

/// A CUDA graph: work that is recorded once and started with one call, as often as one likes. The recipe cuda_graph
/// explains it.
class RecordedWork {
 public:
  /// Records what `queue()` puts into `stream`. Nothing of it runs yet. All that `queue` calls must be allowed during a
  /// recording: no allocation, no waiting. If it throws, the stream is as before.
  template <typename Queue>
  RecordedWork(cudaStream_t stream, Queue queue) {
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cudaGraph_t graph = nullptr;
    try {
      queue();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      throw;
    }
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    CUDA_CHECK(cudaGraphInstantiate(&ready_, graph, 0));
    CUDA_CHECK(cudaGraphDestroy(graph));
  }
  ~RecordedWork() { cudaGraphExecDestroy(ready_); }
  RecordedWork(const RecordedWork&) = delete;
  RecordedWork& operator=(const RecordedWork&) = delete;

  void launch(cudaStream_t stream) { CUDA_CHECK(cudaGraphLaunch(ready_, stream)); }

 private:
  cudaGraphExec_t ready_ = nullptr;
};

/// A row of a measurement whose `work()` queues kernels on the default stream. For work that takes 50 us and more:
/// below that, the host cannot queue kernels as fast as the device runs them, and a graph_row is right.
template <typename Work>
cookbook::Benchmark timed_row(std::string name, double items_per_run, Work work) {
  return {std::move(name), items_per_run, [work = std::move(work)]() mutable {
            EventTimer timer;
            timer.start();
            work();
            return timer.stop();
          }};
}

/// A row whose `work(stream)` queues kernels on the given stream. The work is recorded `repeats` times in a CUDA graph,
/// which the device then runs without the host. The row's time is that of one repetition.
template <typename Work>
cookbook::Benchmark graph_row(std::string name, double items_per_run, Work work, int repeats = 20) {
  struct Repeated {
    Repeated(Work& work, int repeats) {
      CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      recorded = std::make_unique<RecordedWork>(stream, [&] {
        for (int i = 0; i < repeats; ++i) work(stream);
      });
    }
    ~Repeated() { cudaStreamDestroy(stream); }
    Repeated(const Repeated&) = delete;
    Repeated& operator=(const Repeated&) = delete;

    cudaStream_t stream = nullptr;
    std::unique_ptr<RecordedWork> recorded;
    EventTimer timer;
  };
  return {std::move(name), items_per_run,
          [work = std::move(work), repeats, repeated = std::shared_ptr<Repeated>()]() mutable {
            if (!repeated) {
              CUDA_CHECK(cudaDeviceSynchronize());  // what was queued on other streams, such as the inputs, is done
              repeated = std::make_shared<Repeated>(work, repeats);
            }
            repeated->timer.start(repeated->stream);
            repeated->recorded->launch(repeated->stream);
            return repeated->timer.stop(repeated->stream) / repeats;
          }};
}

}  // namespace gpu
