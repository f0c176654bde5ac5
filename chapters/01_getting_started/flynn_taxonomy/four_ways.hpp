/// One job in the four ways of Flynn's taxonomy: the sums of three functions over a row of numbers.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

using Number = std::uint32_t;  // wraps around at 2^32, so the order of the additions does not matter
using Numbers = std::span<const Number>;
using Sums = std::vector<Number>;

inline Number same(Number x) { return x; }
inline Number square(Number x) { return x * x; }
inline Number branch(Number x) { return x % 2 == 1 ? 3 * x + 1 : x / 2; }

/// The sum of a function over the numbers, one number at a time.
template <Number (*function)(Number)>
Number sum(Numbers data) {
  Number result = 0;
  for (Number x : data) {
    asm volatile("" : "+r"(x));  // for the compiler x may change here, one number at a time: it cannot make SIMD of it
    result += function(x);
  }
  return result;
}

/// The three parts of the job.
using Functions = std::array<Number (*)(Numbers), 3>;
constexpr Functions sum_of = {sum<same>, sum<square>, sum<branch>};

/// One thread, one function, one number at a time.
inline Sums sisd(Numbers data) { return {sum<same>(data), sum<square>(data), sum<branch>(data)}; }

/// The same, but one loop for all three sums.
inline Sums sisd_one_loop(Numbers data) {
  Number of_same = 0, of_squares = 0, of_branches = 0;
  for (Number x : data) {
    asm volatile("" : "+r"(x));
    of_same += same(x);
    of_squares += square(x);
    of_branches += branch(x);
  }
  return {of_same, of_squares, of_branches};
}

/// The one loop as one would write it: the compiler may make SIMD of it, if its options say so.
inline Sums compilers_choice(Numbers data) {
  Number of_same = 0, of_squares = 0, of_branches = 0;
  for (const Number x : data) {
    of_same += same(x);
    of_squares += square(x);
    of_branches += branch(x);
  }
  return {of_same, of_squares, of_branches};
}

/// As many lanes as the longest vectors of the machine have. The compiler may make several shorter vectors of them: for
/// many processors with AVX-512, GCC makes two of 32 bytes (-mprefer-vector-width=512 makes one of 64).
#if defined(__AVX512F__)
constexpr std::size_t lanes = 16;
#elif defined(__AVX2__)
constexpr std::size_t lanes = 8;
#else
constexpr std::size_t lanes = 4;
#endif

/// Each line of the loop over the lanes does the same to all lanes: the compiler makes vector instructions of it.
inline Sums simd(Numbers data) {
  std::array<Number, lanes> of_same = {}, of_squares = {}, of_branches = {};
  std::size_t i = 0;
  for (; i + lanes <= data.size(); i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const Number x = data[i + lane];
      const Number mask = -(x % 2);  // if x is odd 2^32 - 1: all bits are 1
      of_same[lane] += x;
      of_squares[lane] += x * x;
      of_branches[lane] += (mask & (3 * x + 1)) | (~mask & (x / 2));  // both sides are computed, one is kept
    }
  }
  Sums sums = sisd(data.subspan(i));  // the last numbers are fewer than a vector has lanes
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    sums[0] += of_same[lane];
    sums[1] += of_squares[lane];
    sums[2] += of_branches[lane];
  }
  return sums;
}

/// One thread per function. All of them work on the same piece, and nobody goes on before all have done it: the barrier
/// keeps them together.
inline Sums misd(Numbers data, std::size_t piece, const Functions& functions = sum_of) {
  Sums sums(functions.size());
  std::barrier all_have_done_it(functions.size());
  std::vector<std::jthread> threads;
  for (std::size_t f = 0; f < functions.size(); ++f) {
    threads.emplace_back([&, f] {
      Number mine = 0;
      for (std::size_t i = 0; i < data.size(); i += piece) {
        mine += functions[f](data.subspan(i, std::min(piece, data.size() - i)));
        all_have_done_it.arrive_and_wait();
      }
      sums[f] = mine;
    });
  }
  threads.clear();  // destroys the jthreads, and that joins them
  return sums;
}

/// A thread that is free takes the next piece, does it by `way`, which is sisd or simd, and waits for nobody.
inline Sums mimd(Numbers data, std::size_t piece, std::size_t thread_count, Sums (*way)(Numbers)) {
  const std::size_t pieces = (data.size() + piece - 1) / piece;
  std::array<std::atomic<Number>, 3> sums = {};
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < thread_count; ++t) {
    threads.emplace_back([&] {
      for (std::size_t mine = next++; mine < pieces; mine = next++) {
        const Sums of_piece = way(data.subspan(mine * piece, std::min(piece, data.size() - mine * piece)));
        for (std::size_t f = 0; f < sums.size(); ++f) sums[f] += of_piece[f];
      }
    });
  }
  threads.clear();
  return {sums.begin(), sums.end()};  // the numbers that the atomic ones hold
}
