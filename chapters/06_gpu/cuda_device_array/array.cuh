/// Arrays of floats on the device, with operators. An operator computes nothing: it makes an expression that remembers
/// its operands. Making an array of the expression runs one kernel, which works out the whole of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "cookbook/cuda.hpp"

/// The elements of an array, as an operand. An expression holds this, not the array.
struct Elements {
  static constexpr int arrays = 1;  // how many a kernel reads for it
  const float* values;
  std::size_t size;
  __device__ float operator[](std::size_t i) const { return values[i]; }
};

/// A number as an operand: the same at every index. Its size is the largest number there is, so the array's size is
/// always the smaller.
constexpr std::size_t any_size = static_cast<std::size_t>(-1);
struct Number {
  static constexpr int arrays = 0;
  float value;
  std::size_t size = any_size;
  __device__ float operator[](std::size_t) const { return value; }
};

/// Two operands and what to do with their elements.
template <typename Operation, typename Left, typename Right>
struct Expression {
  static constexpr int arrays = Left::arrays + Right::arrays;
  Left left;
  Right right;
  std::size_t size;
  __device__ float operator[](std::size_t i) const { return Operation()(left[i], right[i]); }
};

constexpr int threads = 256;  // of a block; each works out four elements

/// Works out the whole expression, element by element; what lies between stays in registers. A thread's four elements
/// are a block's width apart, so that neighbouring threads have neighbouring ones. All four are loaded before the first
/// is stored: so the memory has four requests at a time from each thread, per array.
template <typename Operand>
__global__ void evaluate(Operand expression, float* result, std::size_t count) {
  const std::size_t first = std::size_t{4} * threads * blockIdx.x + threadIdx.x;
  if (first + 3 * threads < count) {
    float four[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) four[k] = expression[first + k * threads];
#pragma unroll
    for (int k = 0; k < 4; ++k) result[first + k * threads] = four[k];
  } else {  // in the last block
    for (std::size_t i = first; i < count; i += threads) result[i] = expression[i];
  }
}

template <typename Operand>
void start_evaluation(const Operand& expression, float* result, std::size_t count) {
  evaluate<<<static_cast<unsigned>((count + 4 * threads - 1) / (4 * threads)), threads>>>(expression, result, count);
  CUDA_CHECK(cudaGetLastError());
}

/// Numbers on the device. An Array can be moved, but not copied.
class Array {
 public:
  inline static int kernels = 0;       ///< started so far by all arrays
  inline static int arrays_moved = 0;  ///< read and written by them

  explicit Array(const std::vector<float>& host) : Array(host.size()) {
    CUDA_CHECK(cudaMemcpy(memory_.data(), host.data(), size_ * sizeof(float), cudaMemcpyHostToDevice));
  }

  /// Runs one kernel.
  template <typename... Parts>
  Array(const Expression<Parts...>& expression) : Array(expression.size) {
    *this = expression;
  }

  Array(Array&& other) noexcept : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
  Array& operator=(Array&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    return *this;
  }

  /// Overwrites the elements; the array may be part of the expression. Throws std::invalid_argument for another size.
  template <typename... Parts>
  Array& operator=(const Expression<Parts...>& expression) {
    if (expression.size != size_) throw std::invalid_argument("the arrays differ in size");
    if (size_ == 0) return *this;
    ++kernels;
    arrays_moved += Expression<Parts...>::arrays + 1;
    start_evaluation(expression, memory_.data(), size_);
    return *this;
  }

  /// Copies the elements to the host.
  std::vector<float> get() const {
    std::vector<float> host(size_);
    if (size_ == 0) return host;
    CUDA_CHECK(cudaMemcpy(host.data(), memory_.data(), size_ * sizeof(float), cudaMemcpyDeviceToHost));
    return host;
  }

  Elements elements() const { return {memory_.data(), size_}; }

 private:
  explicit Array(std::size_t size) : memory_(std::max<std::size_t>(size, 1)), size_(size) {}  // an empty array, too

  gpu::DeviceArray<float> memory_;
  std::size_t size_;
};

/// Each operation is rounded. (Otherwise a kernel that computes a * b + c would round once, and one expression would
/// give other bits than the same expression in two parts.)
struct Plus {
  __device__ float operator()(float a, float b) const { return __fadd_rn(a, b); }
};
struct Times {
  __device__ float operator()(float a, float b) const { return __fmul_rn(a, b); }
};

inline Elements operand(const Array& array) { return array.elements(); }
inline Number operand(float number) { return {number}; }
template <typename... Parts>
Expression<Parts...> operand(const Expression<Parts...>& expression) {
  return expression;
}

/// Throws std::invalid_argument if the sizes differ.
template <typename Operation, typename Left, typename Right>
Expression<Operation, Left, Right> combine(Left left, Right right) {
  const std::size_t size = std::min(left.size, right.size), larger = std::max(left.size, right.size);
  if (larger != size && larger != any_size) throw std::invalid_argument("the arrays differ in size");
  return {left, right, size};
}

template <typename T>
using OperandOf = decltype(operand(std::declval<const T&>()));

/// True if at least one operand is an array or an expression. For other types, such as an enumeration and a number, the
/// operators below do not exist.
template <typename Left, typename Right>
concept OneIsAnArray = !(std::is_same_v<OperandOf<Left>, Number> && std::is_same_v<OperandOf<Right>, Number>);

template <typename Left, typename Right>
requires OneIsAnArray<Left, Right>
auto operator+(const Left& left, const Right& right) { return combine<Plus>(operand(left), operand(right)); }

template <typename Left, typename Right>
requires OneIsAnArray<Left, Right>
auto operator*(const Left& left, const Right& right) { return combine<Times>(operand(left), operand(right)); }
