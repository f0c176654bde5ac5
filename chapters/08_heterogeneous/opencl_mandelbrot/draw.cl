// One work-item per pixel: the global range is width x height.
kernel void draw(global uchar* picture, int steps) {
  const int column = get_global_id(0), row = get_global_id(1);
  picture[row * width + column] = pixel(column, row, steps);
}

kernel void draw_plain(global uchar* picture, int steps) {
  const int column = get_global_id(0), row = get_global_id(1);
  picture[row * width + column] = plain_pixel(column, row, steps);
}
