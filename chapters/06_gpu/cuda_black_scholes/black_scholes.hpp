/// The price of European options by the formula of Black and Scholes, for host and device.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

/// An option to buy (call) or to sell (put) a stock at a fixed price, the strike, on a fixed day.
template <typename Real>
struct Option {
  Real stock;   ///< what the stock costs today
  Real strike;  ///< the price that the option guarantees
  Real years;   ///< until that day
};

template <typename Real>
struct Prices {
  Real call, put;
};

constexpr double interest = 0.02, volatility = 0.30;  // per year; the volatility is that of every stock

/// How likely a number of the standard normal distribution is below d. Abramowitz and Stegun, formula 26.2.17, whose
/// error is at most 7.5e-8.
template <typename Real>
__host__ __device__ Real normal_distribution(Real d) {
  using std::exp, std::fabs;
  const Real k = 1 / (1 + Real(0.2316419) * fabs(d));
  const Real polynomial =
      k * (Real(0.31938153) +
           k * (Real(-0.356563782) + k * (Real(1.781477937) + k * (Real(-1.821255978) + k * Real(1.330274429)))));
  const Real tail = Real(0.3989422804014327) * exp(-d * d / 2) * polynomial;  // the factor is 1 / sqrt(2 pi)
  return d > 0 ? 1 - tail : tail;
}

template <typename Real>
__host__ __device__ Prices<Real> price(const Option<Real>& option) {
  using std::exp, std::log, std::sqrt;
  const Real r = interest, v = volatility, root = sqrt(option.years);
  const Real d1 = (log(option.stock / option.strike) + (r + v * v / 2) * option.years) / (v * root);
  const Real d2 = d1 - v * root;
  const Real strike_today = option.strike * exp(-r * option.years);  // what the strike is worth today
  const Real n1 = normal_distribution(d1), n2 = normal_distribution(d2);
  return {option.stock * n1 - strike_today * n2, strike_today * (1 - n2) - option.stock * (1 - n1)};
}
