// Mandelbrot set in OpenCL
//
// How a pixel is computed is written once, in mandelbrot.hpp, which is C++ and OpenCL C at the same time. The host
// draws the picture of 1536 x 1024 pixels, and the device draws it twice: once with the fma of the text, which is
// rounded once, and once with a * b + c, rounded after the multiplication and again after the addition, as a compiler
// may choose where the text has no fma. The program counts the pixels that differ from the host's: the later a pixel
// escapes, the more steps a difference has had to grow. (With -march=native the host's compiler takes the processor's
// instruction for fma, if it has one, and not a function of the library.)
//
// Compile: g++ -std=c++20 -O2 -march=native -Icommon chapters/08_heterogeneous/opencl_mandelbrot/opencl_mandelbrot.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_mandelbrot
// Run:     opencl_mandelbrot [--steps N] [--device N]

#include <algorithm>

#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "mandelbrot.hpp"

namespace {

using Picture = std::vector<unsigned char>;

Picture draw_on_host(int steps) {
  Picture picture;
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) picture.push_back(pixel(column, row, steps));
  }
  return picture;
}

/// The device's compiler gets `definitions`, then the text of the pixel, then that of the kernel.
Picture draw_on_device(const cl::Device& device, const std::string& definitions, int steps) {
  const std::string text = definitions + opencl::read_kernels(opencl::beside(__FILE__, "mandelbrot.hpp")) +
                           opencl::read_kernels(opencl::beside(__FILE__, "draw.cl"));
  const cl::Context context = CL_CHECK(cl::Context(device));
  cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, device));
  cl::Kernel kernel = CL_CHECK(cl::Kernel(opencl::build(context, text), "draw"));

  Picture picture(width * height, 255);  // no possible value, so that a pixel that nobody writes is noticed
  const cl::Buffer buffer =
      CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, picture.size(), picture.data()));
  CL_CHECK(kernel.setArg(0, buffer));
  CL_CHECK(kernel.setArg(1, steps));
  CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(width, height)));
  CL_CHECK(queue.enqueueReadBuffer(buffer, CL_TRUE, 0, picture.size(), picture.data()));
  return picture;
}

/// Of the pixels whose value on the host is from `first` to `last`: how many there are, and how many differ.
struct Compared {
  int pixels = 0, differ = 0;
};
Compared compare(const Picture& by_host, const Picture& by_device, int first, int last) {
  Compared compared;
  for (std::size_t i = 0; i < by_host.size(); ++i) {
    if (by_host[i] < first || by_host[i] > last) continue;
    ++compared.pixels;
    if (by_device[i] != by_host[i]) ++compared.differ;
  }
  return compared;
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

  const Picture by_host = draw_on_host(steps);
  const Picture rounded_once = draw_on_device(*device, "", steps);
  const Picture rounded_twice = draw_on_device(
      *device, "#pragma OPENCL FP_CONTRACT OFF\n#undef fma\n#define fma(a, b, c) ((a) * (b) + (c))\n", steps);

  cookbook::println("{}", opencl::name_of(*device));
  cookbook::println("on the host a pixel escapes    pixels   differ with fma    differ with a * b + c");
  const auto print_row = [&](const std::string& when, int first, int last) {
    const auto [pixels, once] = compare(by_host, rounded_once, first, last);
    const int twice = compare(by_host, rounded_twice, first, last).differ;
    cookbook::println("{:<28}{:>9}{:>18}{:>16}{:>7.2f} %", when, pixels, once, twice, 100.0 * twice / pixels);
  };
  const int bounds[] = {0, 20, 50, 100, 150, 200, 254};
  for (int i = 0; i < 6 && bounds[i] < steps; ++i) {
    const int last = std::min(bounds[i + 1], steps) - 1;
    print_row(fmt::format("in step {:>3} to {:>3}", bounds[i], last), bounds[i], last);
  }
  print_row("in none of them", steps, steps);

  cookbook::Checks checks;
  const auto [pixels, differ] = compare(by_host, rounded_once, 0, steps);
  checks.equal("pixels that are those of the host with fma", pixels - differ, width * height);
  return checks.exit_code();
}
