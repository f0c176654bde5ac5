// The same with four elements per work-item, loaded and stored as one.
kernel void vector_sum_four(global const int4* a, global const int4* b, global int4* sum, uint fours) {
  const size_t i = get_global_id(0);
  if (i < fours) sum[i] = a[i] + b[i];
}

// Nothing but moving data: what to compare with.
kernel void copy_four(global const int4* from, global const int4* unused, global int4* to, uint fours) {
  const size_t i = get_global_id(0);
  if (i < fours) to[i] = from[i];
}
