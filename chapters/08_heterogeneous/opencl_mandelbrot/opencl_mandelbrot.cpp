// Mandelbrot set in OpenCL
//
// Computes a picture of 1536 x 1024 pixels on the host and on the device. How a pixel is computed is written once, in
// mandelbrot.hpp, which is C++ and OpenCL C at the same time. The program prints how long each takes, and how many
// pixels differ: none, for any number of work-items, as long as both round in the same places in the same way. The last
// row rounds once more per multiplication, as a compiler is free to do if the text has a * b + c. (With
// -march=native the host's compiler takes the processor's instruction for fma, not a slow function of the library.)
//
// Compile: g++ -std=c++20 -O2 -march=native -Icommon -Ichapters/08_heterogeneous chapters/08_heterogeneous/opencl_mandelbrot/opencl_mandelbrot.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_mandelbrot
// Run:     opencl_mandelbrot [--steps N] [--pgm FILE] [--device N]

#include <algorithm>
#include <functional>
#include <numeric>

#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "mandelbrot.hpp"
#include "shortest_time.hpp"
#include "write_pgm.hpp"

namespace {

using Picture = std::vector<unsigned char>;

Picture draw_on_host(int steps) {
  Picture picture;
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) picture.push_back(pixel(column, row, steps));
  }
  return picture;
}

/// The kernel on a device.
class Painter {
 public:
  /// `definitions` is text that goes before the text of the pixel.
  Painter(const cl::Device& device, const std::string& definitions)
      : context_(CL_CHECK(cl::Context(device))), queue_(opencl::profiling_queue(context_, device)) {
    const std::string text = opencl::read_kernels(opencl::beside(__FILE__, "mandelbrot.hpp")) +
                             opencl::read_kernels(opencl::beside(__FILE__, "draw.cl"));
    kernel_ = CL_CHECK(cl::Kernel(opencl::build(context_, definitions + text), "draw"));
  }

  /// Draws with so many work-items, several times; the shortest time in seconds is in `seconds`.
  Picture draw(const cl::NDRange& range, int steps, double& seconds) {
    Picture picture(width * height, 255);  // no possible value, so that a pixel that nobody writes is noticed
    const cl::Buffer buffer =
        CL_CHECK(cl::Buffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, picture.size(), picture.data()));
    CL_CHECK(kernel_.setArg(0, buffer));
    CL_CHECK(kernel_.setArg(1, steps));
    seconds = shortest_on_device(3, [&] {
      cl::Event done;
      CL_CHECK(queue_.enqueueNDRangeKernel(kernel_, cl::NullRange, range, cl::NullRange, nullptr, &done));
      return done;
    });
    CL_CHECK(queue_.enqueueReadBuffer(buffer, CL_TRUE, 0, picture.size(), picture.data()));
    return picture;
  }

 private:
  cl::Context context_;
  cl::CommandQueue queue_;
  cl::Kernel kernel_;
};

int different(const Picture& a, const Picture& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0, std::plus<>(), std::not_equal_to<>());
}

}  // namespace

int main(int argc, char** argv) {
  int steps = 100;
  std::size_t number = 0;
  std::string pgm;
  cookbook::Options options("Draw the Mandelbrot set, with one text for host and device");
  options.add("steps", steps, "steps after which a point counts as part of the set", 1, 254);
  options.add("pgm", pgm, "file for the picture; none is written by default");
  options.add("device", number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);

  const auto device = opencl::chosen_device(number);
  if (!device) return opencl::without_device();

  Picture by_host;
  const double host_seconds = shortest_on_host(2, [&] { by_host = draw_on_host(steps); });
  cookbook::println("{}", opencl::name_of(*device));
  cookbook::println("host, one thread                 {:8.2f} ms", host_seconds * 1e3);
  const auto show = [&](const char* what, Painter& painter, const cl::NDRange& range) {
    double seconds = 0;
    const Picture picture = painter.draw(range, steps, seconds);
    const int pixels = different(picture, by_host);
    cookbook::println("device, {:<25}{:8.2f} ms, differs in {} pixels", what, seconds * 1e3, pixels);
    return pixels;
  };
  Painter painter(*device, "");
  Painter rounding_twice(*device,
                         "#pragma OPENCL FP_CONTRACT OFF\n#undef fma\n#define fma(a, b, c) ((a) * (b) + (c))\n");
  int wrong = show("one work-item per pixel", painter, cl::NDRange(width, height));
  wrong += show("1024 x 128 work-items", painter, cl::NDRange(1024, 128));
  wrong += show("7 x 3 work-items", painter, cl::NDRange(7, 3));
  show("a * b + c rounded twice", rounding_twice, cl::NDRange(width, height));

  cookbook::Checks checks;
  checks.equal("pixels that differ where both round in the same places", wrong, 0);
  if (steps == 20) {  // the sum that is known for this picture
    checks.equal("sum of all pixels", std::accumulate(by_host.begin(), by_host.end(), 0), 13'198'317);
  }
  if (!pgm.empty()) write_pgm(pgm, by_host, width, steps);
  return checks.exit_code();
}
