/// A binary operation made into a reduction on the device, in one launch and in an order that depends on nothing but
/// the number of values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cuda/atomic>
#include <cuda/std/limits>

#include "cuda_check.hpp"
#include "cuda_memory.hpp"

/// An operation says how two values become one, and which value changes nothing. It must be associative and
/// commutative, since nobody says which two values meet first: (a + b) + (c + d) must be ((d + b) + a) + c. For floats
/// it is so but for rounding.
struct Sum {
  template <typename T>
  __host__ __device__ T operator()(T a, T b) const {
    return a + b;
  }
  template <typename T>
  __host__ __device__ static T identity() {
    return T{};
  }
};

struct Product {
  template <typename T>
  __host__ __device__ T operator()(T a, T b) const {
    return a * b;
  }
  template <typename T>
  __host__ __device__ static T identity() {
    return T{1};
  }
};

struct Maximum {
  template <typename T>
  __host__ __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
  template <typename T>
  __host__ __device__ static T identity() {
    return cuda::std::numeric_limits<T>::lowest();
  }
};

namespace detail {

/// The threads of a warp hand their values down: over 16 places, then 8, 4, 2, 1. After five steps lane 0 has it all.
/// The values stay in registers; no memory is needed.
template <typename T, typename Operation>
__device__ T reduce_warp(T value, Operation operation) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = operation(value, __shfl_down_sync(0xFFFFFFFF, value, distance));
  }
  return value;
}

/// Each warp reduces its own values, then the first warp those of all warps. Thread 0 returns the block's value.
template <typename T, typename Operation>
__device__ T reduce_block(T value, Operation operation) {
  __shared__ T of_warp[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = reduce_warp(value, operation);
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < blockDim.x / 32 ? of_warp[lane] : Operation::template identity<T>();
    value = reduce_warp(value, operation);
  }
  __syncthreads();  // of_warp may be used again
  return value;
}

/// 16 bytes of values, which one load instruction brings.
template <typename T>
struct alignas(16) Pack {
  static constexpr int size = 16 / sizeof(T);
  T value[size];
};

template <typename T>
__device__ Pack<T> load_once(const Pack<T>* from) {
  // __ldcs marks the line in the cache as the first to be dropped: nobody reads it twice.
  const float4 bits = __ldcs(reinterpret_cast<const float4*>(from));
  return reinterpret_cast<const Pack<T>&>(bits);
}

template <typename T, typename Operation>
__device__ T reduce_pack(const Pack<T>& pack, Operation operation) {
  T result = pack.value[0];
#pragma unroll
  for (int i = 1; i < Pack<T>::size; ++i) result = operation(result, pack.value[i]);
  return result;
}

/// The whole reduction. `partial` has room for a value a block; `done` is 0, and is 0 again at the end.
/// The launch bounds keep it to 32 registers, so that 2048 threads, all that a multiprocessor can hold, load at once.
template <typename T, typename Operation>
__global__ void __launch_bounds__(1024, 2)
    reduce(const T* values, std::size_t count, T* partial, unsigned* done, T* result) {
  const Operation operation;
  const auto* packs = reinterpret_cast<const Pack<T>*>(values);
  const std::size_t whole = count / Pack<T>::size;
  constexpr int in_flight = 4;  // loads that a thread starts before it uses the first
  T mine = Operation::template identity<T>();

  // A block takes four times its threads' packs, then those that lie a whole grid further on. What does not fill a
  // whole turn comes after the loop, so that nothing in it waits for a comparison.
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x * in_flight;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x * in_flight + threadIdx.x;
  for (; i + (in_flight - 1) * blockDim.x < whole; i += stride) {
    Pack<T> pack[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) pack[u] = load_once(packs + i + u * blockDim.x);
#pragma unroll
    for (int u = 0; u < in_flight; ++u) mine = operation(mine, reduce_pack(pack[u], operation));
  }
  for (; i < whole; i += blockDim.x) mine = operation(mine, reduce_pack(load_once(packs + i), operation));

  // The values after the last whole pack.
  const std::size_t rest = whole * Pack<T>::size + threadIdx.x;
  if (blockIdx.x == 0 && rest < count) mine = operation(mine, values[rest]);

  // The block that comes last reduces what all blocks have left, in the order of their numbers. Which block that is
  // changes from run to run; what it computes does not.
  mine = reduce_block(mine, operation);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = mine;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> arrived(*done);
    last = arrived.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  mine = Operation::template identity<T>();
  for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) mine = operation(mine, partial[block]);
  mine = reduce_block(mine, operation);
  if (threadIdx.x == 0) {
    *result = mine;
    *done = 0;
  }
}

}  // namespace detail

/// Reduces values on the device by Operation, with blocks of a given number of threads.
template <typename T, typename Operation>
class Reduction {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "values of 4 or 8 bytes fill a load and can be shuffled");

 public:
  /// `block` is rounded up to whole warps.
  explicit Reduction(int block) : block_((block + 31) / 32 * 32), partial_(max_blocks), result_(1), done_(1) {
    done_.zero();
    result_.poison();
  }

  /// Queues the reduction of `count` values, the first of which lies on a 16-byte boundary. The result of none is the
  /// operation's identity.
  void start(const T* values, std::size_t count) {
    const std::size_t a_block = static_cast<std::size_t>(block_) * 4 * detail::Pack<T>::size;
    const std::size_t blocks = std::clamp<std::size_t>((count + a_block - 1) / a_block, 1, max_blocks);
    detail::reduce<T, Operation>
        <<<static_cast<unsigned>(blocks), block_>>>(values, count, partial_.data(), done_.data(), result_.data());
    CUDA_CHECK(cudaGetLastError());
  }

  /// Waits for the last reduction and returns its result.
  T result() const { return result_.to_host().front(); }

 private:
  /// Four blocks for each of the 132 multiprocessors of an H200. A constant, not what the device at hand would take, so
  /// that the order of the operations, and with it the last bit of a sum of floats, is the same on every device.
  static constexpr std::size_t max_blocks = 528;

  int block_;
  gpu::DeviceArray<T> partial_, result_;
  gpu::DeviceArray<unsigned> done_;
};
