// Three kernels, as one text for both languages: a CUDA program includes it, an OpenCL program gives it to the driver's
// compiler. The words in capitals are all that differs.
#ifdef __OPENCL_VERSION__
#define KERNEL kernel void
#define GLOBAL global
#define LOCAL local
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define ITEM ((int)get_local_id(0))
#define GROUP_SIZE ((int)get_local_size(0))
#define GROUP ((int)get_group_id(0))
#define GROUP_COUNT ((int)get_num_groups(0))
#else
#define KERNEL __global__ void
#define GLOBAL
#define LOCAL __shared__
#define BARRIER() __syncthreads()
#define ITEM ((int)threadIdx.x)
#define GROUP_SIZE ((int)blockDim.x)
#define GROUP ((int)blockIdx.x)
#define GROUP_COUNT ((int)gridDim.x)
#endif

enum { group_items = 256, iterations = 100 };

// Memory: one addition per element.
KERNEL add(GLOBAL const float* a, GLOBAL const float* b, GLOBAL float* result, int count) {
  const int i = GROUP * GROUP_SIZE + ITEM;
  if (i < count) result[i] = a[i] + b[i];
}

// Local memory and barriers: one sum of products per group, as a tree.
KERNEL dot_product(GLOBAL const float* a, GLOBAL const float* b, GLOBAL float* result, int count) {
  LOCAL float scratch[group_items];
  float mine = 0;
  for (int i = GROUP * GROUP_SIZE + ITEM; i < count; i += GROUP_COUNT * GROUP_SIZE) mine = fma(a[i], b[i], mine);
  scratch[ITEM] = mine;
  // Each round begins with a barrier, so that the sums of the round before are there.
  for (int lower = group_items / 2; lower > 0; lower /= 2) {
    BARRIER();
    if (ITEM < lower) scratch[ITEM] += scratch[ITEM + lower];
  }
  if (ITEM == 0) result[GROUP] = scratch[0];  // this work-item has written it, so no barrier is needed
}

// Arithmetic: x becomes r x (1 - x), again and again.
KERNEL iterate(GLOBAL const float* a, GLOBAL const float* b, GLOBAL float* result, int count) {
  const int i = GROUP * GROUP_SIZE + ITEM;
  if (i >= count) return;
  const float r = 3 + b[i];
  float x = a[i];
  for (int k = 0; k < iterations; ++k) x = fma(-r * x, x, r * x);
  result[i] = x;
}
