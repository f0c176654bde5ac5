// Computes c[i] = a[i] + b[i] `repeats` times. All repetitions but the last are useless, and a compiler removes what is
// useless. `volatile` forbids it: each repetition has to load both numbers again, and to store their sum.
kernel void repeated_sum(global const volatile float* a, global const volatile float* b, global volatile float* c,
                         uint count, uint repeats) {
  const size_t i = get_global_id(0);
  if (i >= count) return;
  for (uint r = 0; r < repeats; ++r) c[i] = a[i] + b[i];
}
