// One work-item per pixel, or fewer: each goes on in strides as wide and as high as the global range.
kernel void draw(global uchar* picture, int steps) {
  for (int row = get_global_id(1); row < height; row += get_global_size(1)) {
    for (int column = get_global_id(0); column < width; column += get_global_size(0)) {
      picture[row * width + column] = pixel(column, row, steps);
    }
  }
}
