// For comparison: multiply-adds that do not wait for one another and load nothing. Eight sums of 16 floats per
// work-item.
kernel void multiply_add(global float* result, float factor, int steps) {
  float16 sum[8];
  for (int i = 0; i < 8; ++i) sum[i] = (float16)((float)get_local_id(0) + i);
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[i] = fma(sum[i], (float16)(factor), (float16)(0.5f));
  }
  float16 all = 0;
  for (int i = 0; i < 8; ++i) all += sum[i];
  vstore16(all, get_global_id(0), result);
}
