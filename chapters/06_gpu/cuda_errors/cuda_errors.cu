// Errors: which call reports them, and which of them stay
//
// Makes four mistakes, each in a process of its own, and then asks three calls in turn what they say: the question for
// an error, the wait for the device, and a harmless allocation. What the host refuses is told at once and forgotten;
// what goes wrong in a kernel is told later, by every call from then on. The last lines show who is told of the second
// of three kernels.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_errors/cuda_errors.cu common/cookbook/*.cpp -lfmt -o cuda_errors
// Run:     cuda_errors

#undef NDEBUG  // the assertion is one of the mistakes, in every build
#include <cassert>
#include <cstdlib>
#include <deque>
#include <string>
#include <utility>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"

namespace {

/// Long enough that the host's next call comes before the mistake.
__device__ void wait() {
  const long long start = clock64();
  while (clock64() - start < 100'000'000) {  // clock cycles: about 50 ms
  }
}

__global__ void do_nothing() {}

__global__ void store(int* target) {
  wait();
  *target = 1;
}

__global__ void require_42(int value) {
  wait();
  assert(value == 42);
}

/// Makes one mistake, and prints what three calls return after it. Returns the exit code 1 if the last one, in which
/// there is nothing wrong, returns an error.
int report(const std::string& mistake) {
  void* memory = nullptr;
  if (mistake == "a block of 2048 threads") do_nothing<<<1, 2048>>>();
  if (mistake == "an array of 2^60 bytes") cudaMalloc(&memory, 1ULL << 60);
  if (mistake == "a store through a null pointer") store<<<1, 1>>>(nullptr);
  if (mistake == "an assertion that fails") require_42<<<1, 1>>>(41);

  const cudaError_t asked = cudaGetLastError(), waited = cudaDeviceSynchronize(), allocated = cudaMalloc(&memory, 4);
  cookbook::println("{:<32}{:<31}{:<25}{}", mistake, cudaGetErrorName(asked), cudaGetErrorName(waited),
                    cudaGetErrorName(allocated));
  return allocated == cudaSuccess ? 0 : 1;
}

/// Launches three kernels, the second of which makes a mistake, and copies. Prints which step is the first to be told.
int report_step(const std::string& how) {
  const auto launch = [](int* target) {
    target == nullptr ? store<<<1, 1>>>(target) : do_nothing<<<1, 1>>>();
    return cudaGetLastError();
  };
  int *memory = nullptr, on_host = 0;
  CUDA_CHECK(cudaMalloc(&memory, sizeof(int)));
  const std::pair<const char*, cudaError_t> steps[] = {
      {"the first launch", launch(memory)},
      {"the second launch", launch(nullptr)},
      {"the third launch", launch(memory)},
      {"the copy", cudaMemcpy(&on_host, memory, sizeof(int), cudaMemcpyDeviceToHost)}};
  for (const auto& [step, error] : steps) {
    if (error == cudaSuccess) continue;
    cookbook::println("{:<32}{}", how, step);
    return 0;
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mistakes[] = {"a block of 2048 threads", "an array of 2^60 bytes", "a store through a null pointer",
                                  "an assertion that fails"};
  const std::string usual = "as usual", blocking = "with CUDA_LAUNCH_BLOCKING=1";
  std::string mistake;
  cookbook::Options options("Which call reports an error of CUDA, and which errors stay");
  options.add("mistake", mistake, "the mistake to make in this process, in the words of the first column");
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  if (mistake == usual || mistake == blocking) return report_step(mistake);
  if (!mistake.empty()) return report(mistake);

  // Each mistake is made by another process, which is this program once more: after some of them it can do nothing
  // else.
  std::deque<cookbook::ChildProgram> children;
  const auto start = [&](const std::string& what) {
    children.emplace_back(std::vector{cookbook::beside_this_program("cuda_errors"), std::string("--mistake"), what},
                          cookbook::ChildProcess::Output::piped_with_errors, [&] {
                            if (what == blocking) setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
                          });
  };
  for (const std::string& what : mistakes) start(what);
  start(usual);
  start(blocking);

  int staying = 0;
  cookbook::println("{:<32}{:<31}{:<25}{}", "after", "cudaGetLastError", "cudaDeviceSynchronize", "cudaMalloc");
  for (std::size_t i = 0; i < std::size(mistakes); ++i) {
    cookbook::println("{}", children[i].read_until(mistakes[i] + " "));
    staying += children[i].wait();
  }
  cookbook::println("the second of three kernels stores through a null pointer; the first to be told is");
  cookbook::println("{}", children[4].read_until(usual + " "));
  const std::string told = children[5].read_until(blocking + " ");
  cookbook::println("{}", told);

  cookbook::Checks checks;
  checks.equal("errors that stay until the process ends", staying, 2);
  checks.that("a launch that blocks is told of its own kernel's error", told.ends_with("the second launch"));
  return checks.exit_code();
}
