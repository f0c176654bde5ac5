/// The prices of options that lie in the device's memory as structs or as columns, one thread per option.
#pragma once

#include "black_scholes.hpp"

/// An option with other fields, such as who owns it. The formula does not need them.
template <int other_fields>
struct Record : Option<float> {
  float others[other_fields];
};
static_assert(sizeof(Option<float>) == 12 && sizeof(Record<5>) == 32 && sizeof(Record<13>) == 64);

/// Neighbouring threads load structs that lie side by side.
template <typename Struct>
__global__ void price_structs(const Struct* options, float* calls, float* puts, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Prices<float> prices = price<float>({options[i].stock, options[i].strike, options[i].years});
  calls[i] = prices.call;
  puts[i] = prices.put;
}

/// Neighbouring threads load neighbouring numbers, of three arrays.
__global__ void price_columns(const float* stock, const float* strike, const float* years, float* calls, float* puts,
                              int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Prices<float> prices = price<float>({stock[i], strike[i], years[i]});
  calls[i] = prices.call;
  puts[i] = prices.put;
}
