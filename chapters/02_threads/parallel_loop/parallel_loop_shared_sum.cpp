// Pitfall: the threads of a loop add to one variable
//
// The variable `sum` is declared outside of the loop, so all threads share it. Adding to it is reading, adding and
// writing back; what another thread has added in between is lost. This is a data race. The clause reduction(+ : sum)
// gives each thread a variable of its own, and adds these up at the end.
//
// Compile: g++ -std=c++20 -O2 -fopenmp chapters/02_threads/parallel_loop/parallel_loop_shared_sum.cpp -o parallel_loop_shared_sum
// Run:     parallel_loop_shared_sum
// Symptom: exit 1, prints "the sum is wrong"

#include <cstdio>

volatile long sum = 0;  // volatile: else a compiler may add once per thread, which mostly hides the mistake

int main() {
  constexpr long count = 100'000'000;
#pragma omp parallel for num_threads(4)  // wrong: reduction(+ : sum) is missing
  for (long i = 1; i <= count; ++i) sum = sum + i;

  std::printf("1 + 2 + ... + %ld = %ld\n", count, long(sum));
  if (sum == count * (count + 1) / 2) return 0;
  std::puts("the sum is wrong");
  return 1;
}
