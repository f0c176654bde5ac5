// The kernel of draw.cl with a bounds check, for 20 steps.
kernel void draw_one(global uchar* picture) {
  const int column = get_global_id(0), row = get_global_id(1);
  if (column < width && row < height) picture[row * width + column] = pixel(column, row, 20);
}
