// Mandelbrot set in OpenCL, measured
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/08_heterogeneous/opencl_mandelbrot/opencl_mandelbrot_bench.cpp common/cookbook/*.cpp -lOpenCL -ltbb -lfmt -o opencl_mandelbrot_bench
// Run:     opencl_mandelbrot_bench [--columns N] [--limit N] [--rounds N] [--device N]

#include <tbb/parallel_for.h>

#include <algorithm>
#include <numeric>

#include "cookbook/figures.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "mandelbrot.hpp"

namespace {

using Picture = std::vector<cl_ushort>;

struct Frame {
  int columns, rows, limit;
  float pitch;  ///< from one pixel to the next
};

void draw_by_tbb(const Frame& frame, Picture& picture) {
  tbb::parallel_for(0, frame.rows, [&](int row) {
    for (int column = 0; column < frame.columns; ++column) {
      picture[static_cast<std::size_t>(row) * frame.columns + column] =
          static_cast<cl_ushort>(escape_step(std::fma(static_cast<float>(column), frame.pitch, -2.0F),
                                             std::fma(static_cast<float>(row), frame.pitch, -1.0F), frame.limit));
    }
  });
}

/// How many steps the pixels of this picture have taken in all.
double steps_of(const Picture& picture, int limit) {
  return std::accumulate(picture.begin(), picture.end(), 0.0,
                         [&](double sum, int value) { return sum + std::min(value + 1, limit); });
}

}  // namespace

int main(int argc, char** argv) {
  int columns = 1'536, limit = 1'000, rounds = 7;
  std::size_t device_number = 0;
  cookbook::Options options("Measure the Mandelbrot set on an OpenCL device and on the host");
  options.add("columns", columns, "columns of the frame; it has two thirds as many rows", 96, 24'576);
  options.add("limit", limit, "steps after which a point counts as part of the set", 1, 10'000);
  options.add("rounds", rounds, "measured runs of each way", 1, 1'000);
  options.add("device", device_number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  const auto device = opencl::chosen_device(device_number);
  if (!device) return opencl::without_device();

  const Frame frame{columns, columns * 2 / 3, limit, 3.0F / static_cast<float>(columns)};
  Picture expected(static_cast<std::size_t>(frame.columns) * frame.rows);
  draw_by_tbb(frame, expected);

  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = opencl::profiling_queue(context, *device);
  const cl::Program program =
      opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "mandelbrot.hpp")) +
                                 opencl::read_kernels(opencl::beside(__FILE__, "mandelbrot_bench.cl")));
  const std::size_t bytes = expected.size() * sizeof(cl_ushort);
  const cl::Buffer device_picture = CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE, bytes));
  struct Way {
    const char* name;
    const char* kernel;
    int pixels;              ///< per work-item, in a row
    std::size_t wide, high;  ///< of a work-group, in work-items
  };
  // A GPU's work-items run together in groups of 32 or 64 with consecutive numbers. The second way makes such a group 8
  // pixels wide instead of 32.
  const Way ways[] = {{"groups of 32 x 8 pixels", "draw_frame", 1, 32, 8},
                      {"groups of 8 x 32 pixels", "draw_frame", 1, 8, 32},
                      {"vectors of 16 pixels", "draw_sixteen", 16, 2, 8}};
  const auto start_draw = [&](const Way& way, cl::Kernel& draw) {
    const auto rounded_up = [](std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; };
    CL_CHECK(draw.setArg(0, device_picture));
    CL_CHECK(draw.setArg(1, frame.columns));
    CL_CHECK(draw.setArg(2, frame.rows));
    CL_CHECK(draw.setArg(3, frame.pitch));
    CL_CHECK(draw.setArg(4, frame.limit));
    const std::size_t items_across = (frame.columns + way.pixels - 1) / way.pixels;
    cl::Event done;
    CL_CHECK(queue.enqueueNDRangeKernel(
        draw, cl::NullRange, cl::NDRange(rounded_up(items_across, way.wide), rounded_up(frame.rows, way.high)),
        cl::NDRange(way.wide, way.high), nullptr, &done));
    return done;
  };

  constexpr int limit_steps = 1'024;
  const std::size_t limit_items = 256 * 32 * CL_CHECK(device->getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>());
  const cl::Buffer sums = CL_CHECK(cl::Buffer(context, CL_MEM_WRITE_ONLY, 16 * limit_items * sizeof(float)));
  cl::Kernel seven = CL_CHECK(cl::Kernel(program, "seven_per_step"));
  CL_CHECK(seven.setArg(0, sums));
  CL_CHECK(seven.setArg(1, 0.5F));
  CL_CHECK(seven.setArg(2, limit_steps));

  cookbook::Checks checks;
  const double all_steps = steps_of(expected, limit);
  std::vector<cookbook::Benchmark> rows = {
      opencl::timed_row("7 multiply-adds per step", 16.0 * limit_steps * static_cast<double>(limit_items), [&] {
        cl::Event done;
        CL_CHECK(queue.enqueueNDRangeKernel(seven, cl::NullRange, cl::NDRange(limit_items), cl::NDRange(256), nullptr,
                                            &done));
        return done;
      })};
  for (const Way& way : ways) {
    auto start = [&, kernel = CL_CHECK(cl::Kernel(program, way.kernel))]() mutable { return start_draw(way, kernel); };
    Picture picture(expected.size(), 0xFFFF);
    CL_CHECK(queue.enqueueWriteBuffer(device_picture, CL_TRUE, 0, bytes, picture.data()));
    start();
    CL_CHECK(queue.enqueueReadBuffer(device_picture, CL_TRUE, 0, bytes, picture.data()));
    checks.that(fmt::format("{}, the same steps as on the host", way.name), picture == expected);
    rows.push_back(opencl::timed_row(way.name, all_steps, start));
  }
  rows.emplace_back("oneTBB on the host", all_steps, [&] { draw_by_tbb(frame, expected); });

  cookbook::Figures figures(fmt::format("{} x {} pixels, up to {} steps", frame.columns, frame.rows, limit),
                            cookbook::rate("G steps/s", 1e9),
                            fmt::format("{}; {}", opencl::name_of(*device), cookbook::machine()));
  figures.measure(rows, rounds);
  figures.percent_of("7 multiply-adds per step", "limit");
  figures.speedup_over("oneTBB on the host", "oneTBB");
  figures.print(checks);
  return checks.exit_code();
}
