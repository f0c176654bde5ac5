// Pitfall: NCCL is told another type than the array has
//
// NCCL gets a pointer to void, a number of elements and a type. Nothing compares the type with that of the pointer.
// Here a thousand numbers in double precision are called ncclFloat: so only half of the bytes take part.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_nccl/cuda_nccl_type.cu common/cookbook/*.cpp -lnccl -lfmt -o cuda_nccl_type
// Run:     cuda_nccl_type
// Symptom: exit 1, prints "500 of 1000 sums are wrong"

#include <nccl.h>

#include <numeric>
#include <vector>

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  std::vector<double> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  const int first_device = 0;
  ncclComm_t communicator = nullptr;
  gpu::keep_nccl_on_this_machine();
  NCCL_CHECK(ncclCommInitAll(&communicator, 1, &first_device));  // one rank: the sum is its own array

  const gpu::DeviceArray<double> in(numbers);
  gpu::DeviceArray<double> sums(numbers.size());
  sums.poison();
  NCCL_CHECK(ncclAllReduce(in.data(), sums.data(), numbers.size(), ncclFloat, ncclSum, communicator, nullptr));
  CUDA_CHECK(cudaStreamSynchronize(nullptr));

  const std::vector<double> result = sums.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) wrong += result[i] != numbers[i];
  NCCL_CHECK(ncclCommDestroy(communicator));
  cookbook::println("{} of {} sums are wrong", wrong, numbers.size());
  return wrong == 0 ? 0 : 1;
}
