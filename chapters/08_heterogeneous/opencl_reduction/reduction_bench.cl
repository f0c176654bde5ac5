// The sum of floats, four per load. A work-item takes every n-th four, where n is the number of all work-items, so that
// neighbours load from neighbouring places; or, with `pieces`, one piece without gaps.

float4 sum_of_own(global const float4* values, uint fours, int pieces) {
  const uint item = get_global_id(0), items = get_global_size(0), piece = (fours + items - 1) / items;
  const uint step = pieces ? 1 : items, end = pieces ? min(fours, (item + 1) * piece) : fours;
  uint i = pieces ? item * piece : item;
  float4 sum = 0;
  for (; i + 3 * step < end; i += 4 * step) {  // four loads before the first is used
    const float4 a = values[i], b = values[i + step], c = values[i + 2 * step], d = values[i + 3 * step];
    sum += (a + b) + (c + d);
  }
  for (; i < end; i += step) sum += values[i];
  return sum;
}

// For GPUs, as reduce_in_strides, with four floats per load.
kernel void sum_fours(global const float4* values, uint fours, local float* scratch, global float* of_group) {
  const float4 own = sum_of_own(values, fours, 0);
  const uint item = get_local_id(0);
  scratch[item] = (own.x + own.y) + (own.z + own.w);
  for (uint lower = get_local_size(0) / 2; lower > 0; lower /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < lower) scratch[item] += scratch[item + lower];
  }
  if (item == 0) of_group[get_group_id(0)] = scratch[0];
}

// To compare with: loads all values, and does next to nothing with them.
kernel void read_fours(global const float4* values, uint fours, int pieces, global float* never) {
  const float4 own = sum_of_own(values, fours, pieces);
  if (own.x + own.y + own.z + own.w == 1e9f) *never = 1;  // cannot be, but the compiler does not know: it has to load
}
