// C = A B for n x n floats, row after row: element (row, column) is [row * n + column]. Four kernels;
// the first three are for work-groups of 16 x 16. fma(x, y, sum) is x * y + sum, rounded once.

// One work-item per element. For each multiplication it loads two numbers from global memory.
kernel __attribute__((reqd_work_group_size(16, 16, 1))) void naive(global const float* a, global const float* b,
                                                                   global float* c, int n) {
  const int column = get_global_id(0), row = get_global_id(1);
  if (row >= n || column >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum = fma(a[row * n + k], b[k * n + column], sum);
  c[row * n + column] = sum;
}

// The work-items of a group load a tile of A and a tile of B together, and all of them use both from local memory.
// Where a tile reaches beyond the matrices it is filled up with zeros, which add nothing to a sum.
kernel __attribute__((reqd_work_group_size(16, 16, 1))) void tiled(global const float* a, global const float* b,
                                                                   global float* c, int n) {
  local float a_tile[16][16], b_tile[16][16];
  const int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    a_tile[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0;
    b_tile[y][x] = k + y < n && column < n ? b[(k + y) * n + column] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);  // both tiles are complete before a work-item uses them
    for (int j = 0; j < 16; ++j) sum = fma(a_tile[y][j], b_tile[j][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);  // all have used them before one overwrites them
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

// A work-group computes 128 x 128 elements, and each of its work-items 8 x 8 of them, in registers: the four rows from
// 4 y on and four more, 64 below these; the four columns from 4 x on and four more, 64 to the right. For 64
// multiplications a work-item loads 16 numbers from local memory, as four vectors of four; neighbouring work-items load
// neighbouring vectors. vstore4(v, i, p) writes the numbers of v to p[4 * i] to p[4 * i + 3].
kernel __attribute__((reqd_work_group_size(16, 16, 1))) void register_blocked(global const float* a,
                                                                              global const float* b, global float* c,
                                                                              int n) {
  local float4 a_tile[16][33], b_tile[16][32];  // 16 x 128 floats; A's with rows and columns exchanged
  local float(*const a_floats)[4 * 33] = (local float(*)[4 * 33]) a_tile;  // the same tiles, number by number
  local float(*const b_floats)[4 * 32] = (local float(*)[4 * 32]) b_tile;
  const int x = get_local_id(0), y = get_local_id(1), item = 16 * y + x;
  const int first_row = 128 * get_group_id(1), first_column = 128 * get_group_id(0);
  float4 sum[8][2];  // for each of its rows the four left and the four right columns
  for (int i = 0; i < 8; ++i) sum[i][0] = sum[i][1] = 0;

  for (int k = 0; k < n; k += 16) {
    // The 256 work-items fill both tiles, 8 numbers of each per work-item. Neighbours write into neighbouring rows of
    // A's tile; with 33 vectors per row these places lie in more banks of local memory than with 32.
    for (int i = item; i < 16 * 128; i += 256) {
      {  // number i of a part of A with 128 rows of 16; what is a row there becomes a column of the tile
        const int down = i / 16, across = i % 16, row = first_row + down, column = k + across;
        a_floats[across][down] = row < n && column < n ? a[row * n + column] : 0;
      }
      {  // number i of a part of B with 16 rows of 128; they are the tile's rows
        const int down = i / 128, across = i % 128, row = k + down, column = first_column + across;
        b_floats[down][across] = row < n && column < n ? b[row * n + column] : 0;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 16; ++j) {
      float own_a[8];  // row j of A's tile, which is a column of A: the numbers of this work-item's 8 rows
      vstore4(a_tile[j][y], 0, own_a);
      vstore4(a_tile[j][y + 16], 1, own_a);
      const float4 left = b_tile[j][x], right = b_tile[j][x + 16];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        sum[i][0] = fma((float4)(own_a[i]), left, sum[i][0]);
        sum[i][1] = fma((float4)(own_a[i]), right, sum[i][1]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = first_row + 4 * y + i % 4 + i / 4 * 64;  // i = 4 to 7: 64 below
    float own_c[8];
    vstore4(sum[i][0], 0, own_c);
    vstore4(sum[i][1], 1, own_c);
    for (int j = 0; j < 8; ++j) {
      const int column = first_column + 4 * x + j % 4 + j / 4 * 64;
      if (row < n && column < n) c[row * n + column] = own_c[j];
    }
  }
}

// For a processor, whose caches need no local memory beside them. A work-item has 8 x 32 elements in registers, as
// vectors of 16, and the numbers come straight from A and B. At the right and lower edge it goes element by element.
kernel void vector_blocked(global const float* a, global const float* b, global float* c, int n) {
  const int first_row = 8 * get_global_id(1), first_column = 32 * get_global_id(0);
  if (first_row + 8 > n || first_column + 32 > n) {
    for (int row = first_row; row < min(first_row + 8, n); ++row) {
      for (int column = first_column; column < min(first_column + 32, n); ++column) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum = fma(a[row * n + k], b[k * n + column], sum);
        c[row * n + column] = sum;
      }
    }
    return;
  }
  float16 left[8], right[8];
  for (int i = 0; i < 8; ++i) left[i] = right[i] = 0;
  for (int k = 0; k < n; ++k) {
    const float16 b_left = vload16(0, b + k * n + first_column), b_right = vload16(1, b + k * n + first_column);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float16 own_a = a[(first_row + i) * n + k];  // the same number 16 times
      left[i] = fma(own_a, b_left, left[i]);
      right[i] = fma(own_a, b_right, right[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    vstore16(left[i], 0, c + (first_row + i) * n + first_column);
    vstore16(right[i], 1, c + (first_row + i) * n + first_column);
  }
}
