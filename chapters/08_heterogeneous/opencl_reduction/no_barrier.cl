// The tree of reduction.cl for a sum of 256 integers per work-group, as opencl_reduction_no_barrier.cpp starts it.
kernel void sum_without_barriers(global const int* values, local int* scratch, global int* of_group) {
  const uint item = get_local_id(0);
  if (item >= 32) {
    for (volatile int i = 0; i < 1000; ++i) {  // these work-items are late: what can always happen, happens here
    }
  }
  scratch[item] = values[get_global_id(0)];
#define LEVEL(lower) \
  if (item < lower) scratch[item] += scratch[item + lower];
  LEVEL(128) LEVEL(64) LEVEL(32) LEVEL(16) LEVEL(8) LEVEL(4) LEVEL(2) LEVEL(1)
  if (item == 0) of_group[get_group_id(0)] = scratch[0];
}
