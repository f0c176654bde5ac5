// There is no loop: one work-item per element runs this function, each with its own global id.
kernel void vector_sum(global const int* a, global const int* b, global int* sum, uint count) {
  const size_t i = get_global_id(0);
  if (i < count) sum[i] = a[i] + b[i];  // there may be more work-items than elements
}
