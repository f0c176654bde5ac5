// The loop is gone: as many work-items as elements run this function, each with its own global id.
kernel void vector_sum(global const int* a, global const int* b, global int* sum, uint count) {
  const size_t gid = get_global_id(0);
  if (gid < count) sum[gid] = a[gid] + b[gid];  // the guard: the last work-group may reach beyond the end
}

// Counts how often each global id runs.
kernel void count_visits(global int* visits, uint count) {
  const size_t gid = get_global_id(0);
  if (gid < count) atomic_inc(&visits[gid]);
}

// Four elements a work-item, loaded and stored as one.
kernel void vector_sum_four(global const int4* a, global const int4* b, global int4* sum, uint fours) {
  const size_t gid = get_global_id(0);
  if (gid < fours) sum[gid] = a[gid] + b[gid];
}

// The limit to compare with: nothing but moving data.
kernel void copy_four(global const int4* from, global const int4* unused, global int4* to, uint fours) {
  const size_t gid = get_global_id(0);
  if (gid < fours) to[gid] = from[gid];
}
