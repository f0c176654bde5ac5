// Combines many values into few: one kernel for GPUs, one for processors. Before this text the host puts the
// definitions of VALUE, VALUE16, COMBINE(a, b) and NEUTRAL: the type, a vector of 16 of it, the operation, and the
// value that leaves another one as it is, such as float, float16, a + b and 0.

// For GPUs. Work-items that run together load neighbouring values at the same time, and leave one value per group.
kernel void reduce_in_strides(global const VALUE* values, uint count, global VALUE* results, local VALUE* scratch) {
  // Each work-item combines every n-th value, where n is the number of all work-items.
  VALUE mine = NEUTRAL;
  for (uint i = get_global_id(0); i < count; i += get_global_size(0)) mine = COMBINE(mine, values[i]);

  // The tree: the upper half of the work-group's values is combined with the lower half, until one is left.
  const uint item = get_local_id(0);
  scratch[item] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);  // all values are in local memory before a work-item reads another's
  for (uint left = get_local_size(0); left > 1;) {
    const uint lower = (left + 1) / 2;  // rounded up: with an odd number, the middle one waits for the next level
    if (item + lower < left) scratch[item] = COMBINE(scratch[item], scratch[item + lower]);
    barrier(CLK_LOCAL_MEM_FENCE);  // this level is complete before the next begins
    left = lower;
  }
  if (item == 0) results[get_group_id(0)] = scratch[0];
}

// For processors. A core runs one work-item from beginning to end. Each has a piece of the memory for itself, goes
// through it with vector instructions, and leaves one value. There is nobody to wait for.
kernel void reduce_in_pieces(global const VALUE* values, uint count, global VALUE* results) {
  const ulong piece = get_global_id(0), pieces = get_global_size(0);
  const uint end = count * (piece + 1) / pieces;
  uint i = count * piece / pieces;
  VALUE16 a = NEUTRAL, b = NEUTRAL, c = NEUTRAL, d = NEUTRAL;  // four: none has to wait for another
  for (; i + 64 <= end; i += 64) {
    a = COMBINE(a, vload16(0, values + i));  // the 16 values from i on
    b = COMBINE(b, vload16(1, values + i));  // the next 16
    c = COMBINE(c, vload16(2, values + i));
    d = COMBINE(d, vload16(3, values + i));
  }
  VALUE own[16], mine = NEUTRAL;
  vstore16(COMBINE(COMBINE(a, b), COMBINE(c, d)), 0, own);
  for (int k = 0; k < 16; ++k) mine = COMBINE(mine, own[k]);
  for (; i < end; ++i) mine = COMBINE(mine, values[i]);  // fewer than 64 are left
  results[piece] = mine;
}
