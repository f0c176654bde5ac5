// Self-check of a CUDA installation
//
// Looks for five libraries of CUDA, opens each of them and asks for its version. Then it runs a small kernel on every
// GPU and looks at the result. So it finds what a list of files does not show: a library that cannot be loaded, a
// driver that is too old, a GPU for which this program has no code. It says PASSED, or what has failed.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_self_check/cuda_self_check.cu common/cookbook/*.cpp -lfmt -ldl -o cuda_self_check
// Run:     cuda_self_check [--libraries "cublas cufft"]

#include <sstream>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "library.hpp"

namespace {

void check_library(cookbook::Checks& checks, const std::string& name) {
  std::string problem;
  const Handle library = open_library(name, &problem);
  checks.that(fmt::format("lib{} can be opened", name), library != nullptr);
  if (library) {
    cookbook::println("      version {}, {}", version_of(library, name), file_of(library));
  } else {
    if (!problem.empty()) cookbook::println("      {}", problem);
    cookbook::println("      install NVIDIA's CUDA toolkit {}, or add the library's folder to LD_LIBRARY_PATH",
                      CUDART_VERSION / 1000);
  }
}

__global__ void answer(int* result) { *result = 42; }

/// Runs the kernel on a device. Returns the first error: each step is tried only if all before it went well. The memory
/// holds another number before, so that a kernel that writes nothing is noticed.
cudaError_t run_kernel(int device, int& result) {
  int* memory = nullptr;
  cudaError_t error = cudaSetDevice(device);
  if (error == cudaSuccess) error = cudaMalloc(&memory, sizeof(int));
  if (error == cudaSuccess) error = cudaMemset(memory, 0, sizeof(int));
  if (error == cudaSuccess) {
    answer<<<1, 1>>>(memory);
    error = cudaGetLastError();
  }
  if (error == cudaSuccess) error = cudaMemcpy(&result, memory, sizeof(int), cudaMemcpyDeviceToHost);
  const cudaError_t freed = cudaFree(memory);  // in any case; frees nothing if there is no memory
  if (error == cudaSuccess) error = freed;
  cudaGetLastError();  // so that the launch on the next device is not blamed for an error of this one
  return error;
}

/// Whether the kernel ran and wrote what it should; prints a line about the device.
bool runs_kernel(int device) {
  cudaDeviceProp properties = {};
  int result = 0;
  cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error == cudaSuccess) error = run_kernel(device, result);
  const std::string problem = error != cudaSuccess ? cudaGetErrorString(error) : result != 42 ? "wrong result" : "";
  cookbook::println("      device #{}: {}, compute capability {}.{}, PCI bus {} device {}, {}", device, properties.name,
                    properties.major, properties.minor, properties.pciBusID, properties.pciDeviceID,
                    problem.empty() ? "runs a kernel" : problem);
  return problem.empty();
}

}  // namespace

int main(int argc, char** argv) {
  std::string libraries = "cublas cusparse cufft curand nvrtc";
  cookbook::Options options("Check that CUDA's libraries, its driver and the GPUs work");
  options.add("libraries", libraries, "names of the libraries to look for, without lib and .so");
  options.parse(argc, argv);

  cookbook::Checks checks;
  std::istringstream names(libraries);
  for (std::string name; names >> name;) check_library(checks, name);

  int driver = 0, runtime = 0, count = 0, running = 0;
  CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  const bool has_driver = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;  // 0: no driver is installed
  const bool too_old = has_driver && driver / 1000 < runtime / 1000;
  const bool found = gpu::device_found();  // no, if the driver is too old; ends the program if devices cannot be used
  if (found || too_old) {                  // without a device, only a driver that is too old is worth a line
    checks.that("the driver is new enough", !too_old);
    cookbook::println("      driver for CUDA {}.{}, program made with CUDA {}.{}", driver / 1000, driver % 1000 / 10,
                      runtime / 1000, runtime % 1000 / 10);
  }
  if (!found) {
    cookbook::println("no kernel was run");
    return gpu::without_device(checks);
  }

  CUDA_CHECK(cudaGetDeviceCount(&count));
  for (int device = 0; device < count; ++device) running += runs_kernel(device);
  checks.equal("devices that run a kernel", running, count);
  cookbook::println("{}/{} devices run a kernel", running, count);
  cookbook::println("{}", checks.passed() ? "PASSED" : "FAILED");
  return checks.exit_code();
}
