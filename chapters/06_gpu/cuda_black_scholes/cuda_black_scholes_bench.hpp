/// What the two sources of the bench share.
#pragma once

#include <cstddef>

#include "black_scholes.hpp"

/// Options as three arrays, so that neighbouring threads and vector instructions read neighbouring numbers.
template <typename Real>
struct Columns {
  const Real *stock, *strike, *years;
  std::size_t count;
};

/// Prices the options on so many threads of oneTBB.
void price_by_tbb(const Columns<double>& options, double* calls, double* puts, int threads);
