// One work-item per pixel of a large frame: the same part of the plane, `pitch` from one pixel to the next.
kernel void draw_frame(global ushort* picture, int columns, int rows, float pitch, int limit) {
  const int column = get_global_id(0), row = get_global_id(1);
  if (column >= columns || row >= rows) return;
  const float cx = fma((float)column, pitch, -2), cy = fma((float)row, pitch, -1);
  picture[row * columns + column] = (ushort)escape_step(cx, cy, limit);
}

// 16 pixels of a row per work-item, as vectors: a form for processors. The loop ends when all 16 have escaped; a
// comparison of vectors gives -1 for true and 0 for false.
kernel void draw_sixteen(global ushort* picture, int columns, int rows, float pitch, int limit) {
  const int column = 16 * get_global_id(0), row = get_global_id(1);
  if (column >= columns || row >= rows) return;
  const int16 next = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const float16 cx = fma(convert_float16(column + next), (float16)(pitch), (float16)(-2));
  const float16 cy = (float16)(fma((float)row, pitch, -1));
  float16 x = 0, y = 0;
  int16 steps = limit, inside = -1;
  for (int step = 0; step < limit && any(inside); ++step) {
    const float16 next_x = fma(x, x, fma(-y, y, cx));
    y = fma(2 * x, y, cy);
    x = next_x;
    const int16 escapes = inside & (fma(x, x, y * y) >= 4);
    steps = select(steps, (int16)(step), escapes);
    inside &= ~escapes;
  }
  ushort own[16];
  vstore16(convert_ushort16(steps), 0, own);
  for (int i = 0; i < min(16, columns - column); ++i) picture[row * columns + column + i] = own[i];
}

// The limit: the seven arithmetic instructions of a step as independent multiply-adds, without a branch; 16 pixels per
// work-item.
kernel void seven_per_step(global float* result, float factor, int steps) {
  float16 value[7];
  for (int k = 0; k < 7; ++k) value[k] = (float16)((float)get_local_id(0) + k);
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int k = 0; k < 7; ++k) value[k] = fma(value[k], (float16)(factor), (float16)(0.5f));
  }
  float16 sum = 0;
  for (int k = 0; k < 7; ++k) sum += value[k];
  vstore16(sum, get_global_id(0), result);
}
