// Each element of the job is a number between 0 and 1 that is replaced `times` times by r x (1 - x). The global
// ids of a part begin with the number of its first element; its buffer begins with this element.
// `step` is 1 / elements. The host computes it, because a division in OpenCL need not be rounded exactly. Products and
// fma() are, in OpenCL's full profile.
kernel void iterate(global float* part, float step, int times) {
  const float r = 3.75f;
  const size_t element = get_global_id(0);
  float x = (element + 0.5f) * step;
  for (int i = 0; i < times; ++i) x = fma(-r * x, x, r * x);
  part[element - get_global_offset(0)] = x;
}
