// For comparison: multiply-adds that do not wait for one another and load nothing, in two forms: sums of 16 floats, for
// processors, and of 4, for GPUs, where a work-item should not need many registers. Eight sums per work-item.
#define MULTIPLY_ADD(name, floatN, vstoreN)                                      \
  kernel void name(global float* result, float factor, int steps) {              \
    floatN sum[8];                                                               \
    for (int i = 0; i < 8; ++i) sum[i] = (floatN)((float)get_local_id(0) + i);   \
    for (int step = 0; step < steps; ++step) {                                   \
      sum[0] = fma(sum[0], (floatN)(factor), (floatN)(0.5f));                    \
      sum[1] = fma(sum[1], (floatN)(factor), (floatN)(0.5f));                    \
      sum[2] = fma(sum[2], (floatN)(factor), (floatN)(0.5f));                    \
      sum[3] = fma(sum[3], (floatN)(factor), (floatN)(0.5f));                    \
      sum[4] = fma(sum[4], (floatN)(factor), (floatN)(0.5f));                    \
      sum[5] = fma(sum[5], (floatN)(factor), (floatN)(0.5f));                    \
      sum[6] = fma(sum[6], (floatN)(factor), (floatN)(0.5f));                    \
      sum[7] = fma(sum[7], (floatN)(factor), (floatN)(0.5f));                    \
    }                                                                            \
    floatN all = 0;                                                              \
    for (int i = 0; i < 8; ++i) all += sum[i];                                   \
    vstoreN(all, get_global_id(0), result);                                      \
  }
MULTIPLY_ADD(multiply_add_16, float16, vstore16)
MULTIPLY_ADD(multiply_add_4, float4, vstore4)
