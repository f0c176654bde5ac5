/// The prices of options that lie in the device's memory as structs or as columns, one thread per option.
#pragma once

#include "black_scholes.hpp"

/// An option with other fields, such as who owns it. The formula does not need them.
template <int other_fields>
struct Record : Option<float> {
  float others[other_fields];
};
static_assert(sizeof(Option<float>) == 12 && sizeof(Record<5>) == 32 && sizeof(Record<13>) == 64);

/// What a thread computes from its option: the prices; or, to see what the loads and stores alone take, a sum.
template <bool with_formula>
__device__ Prices<float> result(const Option<float>& option) {
  if constexpr (with_formula) {
    return price(option);
  } else {
    return {option.stock + option.years, option.strike};
  }
}

/// The options of neighbouring threads are structs that lie side by side.
template <bool with_formula, typename Struct>
__global__ void price_structs(const Struct* options, float* calls, float* puts, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Prices<float> prices = result<with_formula>({options[i].stock, options[i].strike, options[i].years});
  calls[i] = prices.call;
  puts[i] = prices.put;
}

/// Neighbouring threads load neighbouring numbers, of three arrays.
template <bool with_formula>
__global__ void price_columns(const float* stock, const float* strike, const float* years, float* calls, float* puts,
                              int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Prices<float> prices = result<with_formula>({stock[i], strike[i], years[i]});
  calls[i] = prices.call;
  puts[i] = prices.put;
}
