/// Hopper's instructions for tiles: copies of whole tiles by the Tensor Memory Accelerator (TMA), barriers that count
/// bytes, and products that a warp group of 128 threads starts (wgmma). PTX ISA, chapters "Parallel Synchronization and
/// Communication Instructions: mbarrier", "cp.async.bulk.tensor" and "Asynchronous Warpgroup Level Matrix
/// Instructions".
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstddef>
#include <cstdint>
#include <cuda/ptx>

#include "cookbook/cuda.hpp"

namespace ptx = cuda::ptx;
using bfloat16 = __nv_bfloat16;

constexpr int group_rows = 64, tile_columns = 256;  ///< of the sums of a warp group: 128 floats for each thread
constexpr int depth = 64;                           ///< columns of A, and rows of B, in shared memory at a time
constexpr int strip = 64;                           ///< columns side by side in shared memory: 128 bytes

/// A tile of A and one of B, as the TMA leaves them: in strips of 64 columns, row after row.
template <int rows>
struct alignas(1024) Stage {
  bfloat16 a[rows][strip];
  bfloat16 b[tile_columns / strip][depth][strip];
};

/// Whether the current device has these instructions. If not, says so in one line on standard error.
inline bool hopper_found() {
  int device = 0, major = 0, minor = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  if (major == 9 && minor == 0) return true;
  cookbook::print_error(
      fmt::format("skipped, the device has compute capability {}.{}: wgmma is of 9.0 alone", major, minor));
  return false;
}

/// What the TMA has to know about an n x n matrix: where it is, and which box one copy brings, `rows` rows of `strips`
/// strips. To the TMA the matrix has three dimensions: column within the strip, row, strip. `swizzle` says how it mixes
/// the 16-byte pieces of a row in shared memory, so that eight of one column lie in different banks.
inline CUtensorMap boxes_of(const bfloat16* matrix, int n, int rows, int strips,
                            CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B) {
  // The function is the driver's. It is asked for by name, so that the program is not linked with the driver's library.
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
  const auto size = static_cast<cuuint64_t>(n);
  const cuuint64_t sizes[] = {strip, size, size / strip},
                   bytes_apart[] = {size * sizeof(bfloat16), strip * sizeof(bfloat16)};
  const cuuint32_t box[] = {strip, static_cast<cuuint32_t>(rows), static_cast<cuuint32_t>(strips)}, steps[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult result = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<bfloat16*>(matrix), sizes, bytes_apart, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  gpu::check(result, gpu::error_number, "cuTensorMapEncodeTiled", __FILE__, __LINE__);
  return map;
}

/// A barrier in shared memory. It has phases: one ends when all expected arrivals, and all expected bytes, have come.
using Barrier = std::uint64_t;

/// Waits for the end of the phase with this parity: 0 for the first, 1 for the second, 0 for the third. At a new
/// barrier the phase before the first, of parity 1, counts as ended.
__device__ inline void wait(Barrier& barrier, int parity) {
  while (!ptx::mbarrier_try_wait_parity(&barrier, parity)) {
  }
}

/// Starts a copy of the box at this row and column into shared memory. Its bytes arrive at the barrier.
__device__ inline void start_copy(void* to, const CUtensorMap& boxes, int row, int column, Barrier& barrier) {
  ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, to, &boxes, {0, row, column / strip}, &barrier);
}

/// Starts the copies of one stage; the barrier's phase ends when all of it has arrived.
template <int rows>
__device__ void start_copies(Stage<rows>& stage, Barrier& full, const CUtensorMap& a, const CUtensorMap& b, int row,
                             int column, int k) {
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof(stage));
  start_copy(stage.a, a, row, k, full);
  start_copy(stage.b, b, k, column, full);
}

/// The sums of a warp group, 64 x 256, spread over the registers of its 128 threads.
using Sums = float[group_rows * tile_columns / 128];

/// What wgmma has to know about a tile in shared memory: where it begins, that the next eight rows lie 1024 bytes
/// further on and the next strip `strip_bytes`, and that pieces of 16 bytes are mixed as boxes_of() says (the last
/// bits). The field for the address takes 18 bits of it, without the last four.
__device__ inline std::uint64_t tile_at(const void* begin, int strip_bytes) {
  const std::uint64_t address = __cvta_generic_to_shared(begin), apart = strip_bytes;
  return (address & 0x3FFFF) >> 4 | (apart >> 4) << 16 | std::uint64_t{1024 >> 4} << 32 | std::uint64_t{1} << 62;
}

#define SUMS_8(i)                                                                                               \
  "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3]), "+f"(sums[i + 4]), "+f"(sums[i + 5]), \
      "+f"(sums[i + 6]), "+f"(sums[i + 7])
#define SUMS_32(i) SUMS_8(i), SUMS_8(i + 8), SUMS_8(i + 16), SUMS_8(i + 24)

/// Starts sums = a * b, plus sums if `add`, for 64 x 16 numbers of A and 16 x 256 of B. The threads go on at once.
__device__ inline void start_product(Sums& sums, std::uint64_t a, std::uint64_t b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, p, "
      "1, 1, 0, 1;\n}"
      : SUMS_32(0), SUMS_32(32), SUMS_32(64), SUMS_32(96)
      : "l"(a), "l"(b), "r"(int{add}));
}

#undef SUMS_32
#undef SUMS_8

/// Starts the four products of a tile of A, 64 x 64, with one of B. `first`: the sums begin with them.
__device__ inline void start_products(Sums& sums, const bfloat16 (*a)[strip], const bfloat16 (*b)[depth][strip],
                                      bool first) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");  // the registers are ready
#pragma unroll
  for (int k = 0; k < depth; k += 16) {
    start_product(sums, tile_at(&a[0][k], 0), tile_at(&b[0][k][0], sizeof(*b)), !first || k > 0);
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most so many of the groups of products that this thread has started are still under way.
template <int under_way = 0>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(under_way) : "memory");
}

/// Stores the sums of a warp group. Thread t has pairs of neighbours: of row 16 (t / 32) + t % 32 / 4 and of the row 8
/// further down, columns 2 (t % 4) + 8 j and the next (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16").
__device__ inline void store(const Sums& sums, float* c, int n) {
  const int thread = threadIdx.x % 128;
  c += std::size_t(thread / 32 * 16 + thread % 32 / 4) * n + thread % 4 * 2;
#pragma unroll
  for (int j = 0; j < tile_columns / 8; ++j) {
    *reinterpret_cast<float2*>(c + 8 * j) = {sums[4 * j], sums[4 * j + 1]};
    *reinterpret_cast<float2*>(c + std::size_t(8) * n + 8 * j) = {sums[4 * j + 2], sums[4 * j + 3]};
  }
}
