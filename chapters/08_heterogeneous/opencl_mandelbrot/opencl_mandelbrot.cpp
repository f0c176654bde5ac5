// Mandelbrot set in OpenCL
//
// Computes a picture of 1536 x 1024 pixels on the device, and again on the host. What one pixel costs is written once,
// in mandelbrot.hpp, which is C++ and OpenCL C at the same time. Every pixel must agree, on any device, and whatever
// the global range: a work-item goes from pixel to pixel in strides as large as the range.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_mandelbrot/opencl_mandelbrot.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_mandelbrot
// Run:     opencl_mandelbrot [--steps N] [--pgm FILE] [--device N]

#include <algorithm>
#include <functional>
#include <numeric>

#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "mandelbrot.hpp"
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

class Painter {
 public:
  explicit Painter(const cl::Device& device)
      : context_(CL_CHECK(cl::Context(device))), queue_(CL_CHECK(cl::CommandQueue(context_, device))) {
    const std::string text = opencl::read_kernels(opencl::beside(__FILE__, "mandelbrot.hpp")) +
                             opencl::read_kernels(opencl::beside(__FILE__, "draw.cl"));
    kernel_ = CL_CHECK(cl::Kernel(opencl::build(context_, text), "draw"));
  }

  Picture draw(const cl::NDRange& range, int steps) {
    Picture picture(width * height, 255);  // no possible value, so that a pixel that nobody writes is noticed
    const cl::Buffer buffer =
        CL_CHECK(cl::Buffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, picture.size(), picture.data()));
    CL_CHECK(kernel_.setArg(0, buffer));
    CL_CHECK(kernel_.setArg(1, steps));
    CL_CHECK(queue_.enqueueNDRangeKernel(kernel_, cl::NullRange, range));
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

/// Row 0 is the only one without a counterpart: rows 1 and 1023, 2 and 1022 and so on are equally far from the middle.
bool is_symmetric(const Picture& picture) {
  for (int row = 1; row < height / 2; ++row) {
    const auto upper = picture.begin() + row * width, lower = picture.begin() + (height - row) * width;
    if (!std::equal(upper, upper + width, lower)) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  int steps = 20;
  std::size_t number = 0;
  std::string pgm;
  cookbook::Options options("Draw the Mandelbrot set, with one text for host and device");
  options.add("steps", steps, "steps after which a point counts as part of the set", 1, 254);
  options.add("pgm", pgm, "file for the picture; none is written by default");
  options.add("device", number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);

  const Picture by_host = draw_on_host(steps);
  cookbook::Checks checks;
  checks.that("the lower half mirrors the upper half", is_symmetric(by_host));
  if (steps == 20) {  // the sum that is known for this picture
    checks.equal("sum of all pixels", std::accumulate(by_host.begin(), by_host.end(), 0), 13'198'317);
  }
  const auto device = opencl::chosen_device(number);
  if (!device) return opencl::without_device(checks);
  cookbook::println("on {}", opencl::name_of(*device));

  Painter painter(*device);
  const Picture picture = painter.draw(cl::NDRange(width, height), steps);
  checks.equal("pixels that differ from the host's", different(picture, by_host), 0);
  checks.equal("pixels that differ with 1024 x 128 work-items",
               different(painter.draw(cl::NDRange(1024, 128), steps), by_host), 0);
  checks.equal("pixels that differ with 7 x 3 work-items", different(painter.draw(cl::NDRange(7, 3), steps), by_host),
               0);

  if (!pgm.empty()) write_pgm(pgm, picture, width, steps);
  return checks.exit_code();
}
