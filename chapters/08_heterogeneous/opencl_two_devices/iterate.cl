// Each element of the job is a number between 0 and 1 that is replaced `times` times by r x (1 - x). A part
// begins with element `first` of the job, and its buffer begins with this element.
// (Not by a global offset: PoCL 5.0 ends the program by a failed assertion if a kernel runs with an offset and without
// one at the same time.)
// `step` is 1 / elements. The host computes it, because a division in OpenCL need not be rounded exactly. Products and
// fma() are, in OpenCL's full profile.
kernel void iterate(global float* part, float step, int times, ulong first) {
  const float r = 3.75f;
  const size_t i = get_global_id(0);
  float x = (first + i + 0.5f) * step;
  for (int k = 0; k < times; ++k) x = fma(-r * x, x, r * x);
  part[i] = x;
}
