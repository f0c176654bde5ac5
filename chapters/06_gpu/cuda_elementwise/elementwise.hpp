/// A kernel made of one expression: what to do with the elements of index i.
#pragma once

#include <array>
#include <string>

#include "cookbook/nvrtc.hpp"

/// Runs an operation for every index. `Parameters` are the types of what it works with: numbers and pointers to arrays
/// on the device, such as Elementwise<float, const float*, float*>.
template <typename... Parameters>
class Elementwise {
 public:
  using Names = std::array<std::string, sizeof...(Parameters)>;

  /// The whole kernel. `names` are those of the parameters; `operation` is what to do for index i, in CUDA C++.
  /// The names `count` and `i` are taken.
  static std::string text(const Names& names, const std::string& operation) {
    std::string parameters = "size_t count";
    std::size_t next = 0;
    ((parameters += ", " + type_name<Parameters>() + " " + names[next++]), ...);
    // After the line #line, the compiler's messages name "operation", and count its lines from 1.
    return "extern \"C\" __global__ void elementwise(" + parameters + R"() {
  const size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) {
#line 1 "operation"
)" + operation +
           R"(;
  }
})";
  }

  /// Compiles for the current device and loads. Throws gpu::CompileError.
  Elementwise(const Names& names, const std::string& operation) : Elementwise(text(names, operation), 1) {}

  /// The same with a whole kernel, each of whose threads works on `per_thread` elements. The measurement needs it.
  Elementwise(const std::string& text, int per_thread) : per_thread_(per_thread) {
    const std::string code = gpu::compile(text, "elementwise.cu", gpu::architecture());
    DRIVER_CHECK(gpu::driver().cuModuleLoadData(&module_, code.data()));
    DRIVER_CHECK(gpu::driver().cuModuleGetFunction(&kernel_, module_, "elementwise"));
  }

  ~Elementwise() { gpu::driver().cuModuleUnload(module_); }
  Elementwise(const Elementwise&) = delete;
  Elementwise& operator=(const Elementwise&) = delete;

  /// Starts the kernel for the indices 0 to count - 1. The arguments are converted to the kernel's types by C++.
  void operator()(std::size_t count, Parameters... arguments) const {
    if (count == 0) return;
    void* addresses[] = {&count, &arguments...};
    const std::size_t threads = 256, blocks = (count + threads * per_thread_ - 1) / (threads * per_thread_);
    DRIVER_CHECK(gpu::driver().cuLaunchKernel(kernel_, blocks, 1, 1, threads, 1, 1, 0, nullptr, addresses, nullptr));
  }

  /// How T is written in the kernel's text.
  template <typename T>
  static std::string type_name() {
    std::string name;
    NVRTC_CHECK(nvrtcGetTypeName<T>(&name));
    return name;
  }

 private:
  int per_thread_;
  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
};
