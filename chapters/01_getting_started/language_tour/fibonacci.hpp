/// The Fibonacci numbers: a header of one's own, as a Python module would be a file of one's own.
#pragma once

#include <utility>
#include <vector>

namespace series {

/// The Fibonacci numbers below `limit`, from 1 and 1 on. (Lines with three slashes are documentation, as the string at
/// the top of a Python function is; tools such as Doxygen read them, the program cannot.)
inline std::vector<long> fibonacci_below(long limit) {
  std::vector<long> numbers;
  long a = 0, b = 1;
  while (b < limit) {
    numbers.push_back(b);
    a = std::exchange(b, a + b);  // a, b = b, a + b: the sum is computed before either is set
  }
  return numbers;
}

}  // namespace series
