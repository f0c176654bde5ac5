// Writes down the number of each work-item's group, and the work-item's number within the group. A range of one or two
// dimensions has size 1 in those that it does not have.
kernel void where_am_i(global int* group, global int* item) {
  const size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  const size_t i = (z * get_global_size(1) + y) * get_global_size(0) + x;
  group[i] = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
  item[i] = (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);
}

// Two jobs: work-item i begins with the number i and makes steps of a random number generator. In the even job all make
// the same number of steps; in the uneven job each makes `more` steps more than the one before it.
uint after(uint number, uint steps) {
  for (; steps > 0; --steps) number = number * 1664525u + 1013904223u;
  return number;
}
kernel void even(global uint* result, uint steps) {
  const uint i = get_global_id(0);
  result[i] = after(i, steps);
}
kernel void uneven(global uint* result, uint more) {
  const uint i = get_global_id(0);
  result[i] = after(i, i * more);
}
