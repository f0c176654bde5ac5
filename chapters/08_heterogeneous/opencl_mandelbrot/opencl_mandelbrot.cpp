// Mandelbrot set in OpenCL
//
// Host and device draw the same picture of 1536 x 1024 pixels, from one source that is C++ and OpenCL C at the same
// time (mandelbrot.hpp), in two forms: with the formula as one writes it, whose products and sums a compiler may fuse
// or not, and with fma in each sum, which leaves no choice. The program counts the pixels that differ between host and
// device: the later a pixel escapes, the more steps a difference has had to grow. The host's compiler is told not to
// fuse. (With -march=native fma is the processor's instruction, if it has one, and not a function of the library.)
//
// Compile: g++ -std=c++20 -O2 -march=native -Icommon chapters/08_heterogeneous/opencl_mandelbrot/opencl_mandelbrot.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_mandelbrot
// Run:     opencl_mandelbrot [--steps N] [--device N]

#pragma GCC optimize("fp-contract=off")  // like the option -ffp-contract=off: a * b + c is rounded twice

#include <algorithm>

#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "mandelbrot.hpp"

namespace {

using Picture = std::vector<unsigned char>;

Picture draw_on_host(unsigned char (*pixel_of)(int, int, int), int steps) {
  Picture picture;
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) picture.push_back(pixel_of(column, row, steps));
  }
  return picture;
}

/// The device's compiler gets `first_line`, then the text of the pixel, then that of the kernels.
Picture draw_on_device(const cl::Device& device, const char* name, const std::string& first_line, int steps) {
  const std::string text = first_line + opencl::read_kernels(opencl::beside(__FILE__, "mandelbrot.hpp")) +
                           opencl::read_kernels(opencl::beside(__FILE__, "draw.cl"));
  const cl::Context context = CL_CHECK(cl::Context(device));
  cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, device));
  cl::Kernel kernel = CL_CHECK(cl::Kernel(opencl::build(context, text), name));

  Picture picture(width * height, 255);  // no possible value, so that a pixel that nobody writes is noticed
  const cl::Buffer buffer =
      CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, picture.size(), picture.data()));
  CL_CHECK(kernel.setArg(0, buffer));
  CL_CHECK(kernel.setArg(1, steps));
  CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(width, height)));
  CL_CHECK(queue.enqueueReadBuffer(buffer, CL_TRUE, 0, picture.size(), picture.data()));
  return picture;
}

}  // namespace

int main(int argc, char** argv) {
  int steps = 254;
  std::size_t number = 0;
  cookbook::Options options("Draw the Mandelbrot set alike on host and device");
  options.add("steps", steps, "steps after which a point counts as part of the set", 1, 254);
  options.add("device", number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);

  const auto device = opencl::chosen_device(number);
  if (!device) return opencl::without_device();

  const Picture by_host = draw_on_host(pixel, steps), plain_by_host = draw_on_host(plain_pixel, steps);
  const Picture by_device = draw_on_device(*device, "draw", "", steps);
  const Picture plain_by_device = draw_on_device(*device, "draw_plain", "", steps);
  const Picture unfused_by_device = draw_on_device(*device, "draw_plain", "#pragma OPENCL FP_CONTRACT OFF\n", steps);

  cookbook::println("{}", opencl::name_of(*device));
  cookbook::println("                                         host and device differ, by");
  cookbook::println("on the host a pixel escapes    pixels    fma    plain formula       not fused");
  int equal = 0;
  // The pixels whose value on the host is from `first` to `last`.
  const auto print_row = [&](const std::string& when, int first, int last) {
    int pixels = 0, with_fma = 0, plain = 0, unfused = 0;
    for (std::size_t i = 0; i < by_host.size(); ++i) {
      if (by_host[i] < first || by_host[i] > last) continue;
      ++pixels;
      with_fma += by_device[i] != by_host[i];
      plain += plain_by_device[i] != plain_by_host[i];
      unfused += unfused_by_device[i] != plain_by_host[i];
    }
    equal += pixels - with_fma;
    cookbook::println("{:<28}{:>9}{:>7}{:>8}{:>7.2f} %{:>16}", when, pixels, with_fma, plain, 100.0 * plain / pixels,
                      unfused);
  };
  const int bounds[] = {0, 20, 50, 100, 150, 200, 254};
  for (int i = 0; i < 6 && bounds[i] < steps; ++i) {
    const int last = std::min(bounds[i + 1], steps) - 1;
    print_row(fmt::format("in step {:>3} to {:>3}", bounds[i], last), bounds[i], last);
  }
  print_row("in none of them", steps, steps);

  cookbook::Checks checks;
  checks.equal("pixels that are those of the host with fma", equal, width * height);
  return checks.exit_code();
}
