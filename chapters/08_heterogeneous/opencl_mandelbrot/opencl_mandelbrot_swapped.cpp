// Pitfall: rows and columns of the global range are swapped
//
// The range is given as (1024, 1536), the rows first, as NumPy has the shape of a picture. But the kernel takes its
// column from dimension 0. So there are work-items for 1024 columns and 1536 rows, and the bounds check hides it: no
// call fails, and a third of the picture is never written. This program has set it to 255 before, which is no possible
// value.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_mandelbrot/opencl_mandelbrot_swapped.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_mandelbrot_swapped
// Run:     opencl_mandelbrot_swapped
// Symptom: exit 1, prints "524288 of 1572864 pixels were never written"

#include <algorithm>

#include "cookbook/opencl.hpp"
#include "mandelbrot.hpp"

int main() {
  const auto device = opencl::chosen_device(0);
  if (!device) return opencl::without_device();
  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, *device));
  const std::string text = opencl::read_kernels(opencl::beside(__FILE__, "mandelbrot.hpp")) +
                           opencl::read_kernels(opencl::beside(__FILE__, "draw_one.cl"));
  cl::Kernel kernel = CL_CHECK(cl::Kernel(opencl::build(context, text), "draw_one"));

  std::vector<unsigned char> picture(width * height, 255);
  const cl::Buffer buffer =
      CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, picture.size(), picture.data()));
  CL_CHECK(kernel.setArg(0, buffer));
  CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(height, width)));  // wrong: width, height
  CL_CHECK(queue.enqueueReadBuffer(buffer, CL_TRUE, 0, picture.size(), picture.data()));

  const auto unwritten = std::count(picture.begin(), picture.end(), 255);
  cookbook::println("{} of {} pixels were never written", unwritten, picture.size());
  return unwritten > 0 ? 1 : 0;
}
