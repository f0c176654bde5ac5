// Combines many values into one per work-group. Before this text the host puts the definitions of VALUE, COMBINE(a, b)
// and NEUTRAL: the type, the operation, and the value that changes nothing, such as float, a + b and 0.

kernel void reduce(global const VALUE* values, uint count, local VALUE* scratch, global VALUE* of_group) {
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
  if (item == 0) of_group[get_group_id(0)] = scratch[0];
}
