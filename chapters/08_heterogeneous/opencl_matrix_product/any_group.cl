// The kernel `tiled` of products.cl without its attribute reqd_work_group_size(16, 16, 1): a group of any size is
// accepted. n is a multiple of 16 here.
kernel void tiled(global const float* a, global const float* b, global float* c, int n) {
  local float a_tile[16][16], b_tile[16][16];
  const int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    a_tile[y][x] = a[row * n + k + x];
    b_tile[y][x] = b[(k + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 16; ++j) sum = fma(a_tile[y][j], b_tile[j][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}
