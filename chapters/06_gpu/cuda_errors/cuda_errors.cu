// Errors: which call reports them, and which of them stay
//
// Makes four mistakes, each in a process of its own, and prints what three calls return after it: the question for the
// error that the runtime keeps, the wait for the device, and a harmless allocation. What the host refuses is reported
// at once, and gone once it was asked for; what goes wrong in a kernel is reported later, by call after call. The last
// lines show which call is the first to return the error of the second of three kernels.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_errors/cuda_errors.cu common/cookbook/*.cpp -lfmt -o cuda_errors
// Run:     cuda_errors [--mistake TEXT]

#undef NDEBUG  // the assertion is one of the mistakes, in every build
#include <cassert>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

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

/// Launches three kernels, the second of which makes a mistake, and copies. Prints which call is the first to return
/// the error.
int report_step(const std::string& how) {
  int *memory = nullptr, on_host = 0;
  CUDA_CHECK(cudaMalloc(&memory, sizeof(int)));

  do_nothing<<<1, 1>>>();
  const cudaError_t first = cudaGetLastError();
  store<<<1, 1>>>(nullptr);  // the mistake
  const cudaError_t second = cudaGetLastError();
  do_nothing<<<1, 1>>>();
  const cudaError_t third = cudaGetLastError();
  const cudaError_t copy = cudaMemcpy(&on_host, memory, sizeof(int), cudaMemcpyDeviceToHost);

  const std::pair<const char*, cudaError_t> steps[] = {{"cudaGetLastError after the first launch", first},
                                                       {"cudaGetLastError after the second launch", second},
                                                       {"cudaGetLastError after the third launch", third},
                                                       {"the copy", copy}};
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
  std::string mistake = "all";
  std::vector<std::string> choices = {"all", usual, blocking};
  choices.insert(choices.end(), std::begin(mistakes), std::end(mistakes));
  cookbook::Options options("Which call reports an error of CUDA, and which errors stay");
  options.add_choice("mistake", mistake, "the one to make, in this process, in the words of the first column", choices);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  if (mistake == usual || mistake == blocking) return report_step(mistake);
  if (mistake != "all") return report(mistake);

  // Each mistake is made by another process, which is this program once more: after some of them it can do nothing
  // else. One after the other, so that none disturbs the next one.
  const auto run_child = [&](const std::string& what) {
    cookbook::ChildProgram child({cookbook::beside_this_program("cuda_errors"), "--mistake", what},
                                 cookbook::ChildProcess::Output::piped_with_errors, [&] {
                                   if (what == blocking) setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
                                 });
    const std::string line = child.read_until(what + " ");
    return std::pair(line, child.wait());
  };
  cookbook::println("{:<32}{:<31}{:<25}{}", "after", "cudaGetLastError", "cudaDeviceSynchronize", "cudaMalloc");
  int staying = 0;
  for (const std::string& what : mistakes) {
    const auto [line, exit_code] = run_child(what);
    cookbook::println("{}", line);
    staying += exit_code == 1;
  }
  cookbook::println("the second of three kernels stores through a null pointer; the first call to return the error:");
  cookbook::println("{}", run_child(usual).first);
  const std::string told = run_child(blocking).first;
  cookbook::println("{}", told);

  cookbook::Checks checks;
  checks.equal("errors that stay until the process ends", staying, 2);
  checks.that("after a launch that blocks, its own kernel's error is reported", told.ends_with("the second launch"));
  return checks.exit_code();
}
