/// The Fibonacci numbers: a header of one's own, as a module in Python is a file of one's own.
#pragma once

#include <vector>

namespace series {

/// The Fibonacci numbers below `limit`, from 1 and 1 on.
inline std::vector<long> fibonacci_below(long limit) {
  std::vector<long> numbers;
  long a = 0, b = 1;
  while (b < limit) {
    numbers.push_back(b);
    const long sum = a + b;
    a = b;
    b = sum;
  }
  return numbers;
}

}  // namespace series
