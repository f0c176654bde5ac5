// Pitfall: no mask
//
// One instruction is carried out for all lanes, so lanes cannot branch separately. This program lets lane 0 decide
// for all of them: they all compute 3x + 1, also those whose x is even.
//
// Compile: g++ -std=c++20 -O2 chapters/01_getting_started/flynn_taxonomy/flynn_taxonomy_no_mask.cpp -o flynn_taxonomy_no_mask
// Run:     flynn_taxonomy_no_mask
// Symptom: exit 1, prints "4 of 8 lanes are wrong"

#include <cstdio>

using Lanes __attribute__((vector_size(32))) = unsigned;  // GCC: eight lanes; an operation is done for all of them

int main() {
  const Lanes x = {1, 2, 3, 4, 5, 6, 7, 8};
  Lanes result = {};
  if (x[0] % 2 == 1) {  // wrong: each lane needs a decision of its own
    result = 3 * x + 1;
  } else {
    result = x / 2;
  }

  const Lanes expected = {4, 1, 10, 2, 16, 3, 22, 4};
  int wrong = 0;
  for (std::size_t lane = 0; lane < 8; ++lane) {
    std::printf("%u ", result[lane]);
    wrong += result[lane] != expected[lane];
  }
  std::printf("\n%d of 8 lanes are wrong\n", wrong);
  return wrong > 0 ? 1 : 0;
}
