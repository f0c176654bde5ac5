/// The picture of speedup_laws: the curves of the two laws, and what was measured as points on them.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "laws.hpp"
#include "svg.hpp"

/// A speedup that was measured.
struct Point {
  double serial_part;
  double processors;
  double speedup;
};

constexpr std::array serial_parts = {0.0, 0.1, 0.25, 0.5};
constexpr std::array<std::string_view, 4> colours = {"#000000", "#0072b2", "#009e73", "#d55e00"};

/// One law as curves, one for each serial part, over 1 to `most` processors; both axes are logarithmic, to base 2.
inline void draw_law(Svg& picture, double left, std::string_view title, double (*law)(double, double), double most,
                     const std::vector<Point>& measured) {
  constexpr double top = 50, side = 360;
  const double octaves = std::log2(most);
  const auto x = [&](double processors) { return left + side * std::log2(processors) / octaves; };
  const auto y = [&](double value) { return top + side - side * std::log2(value) / octaves; };

  picture.text(left + side / 2, top - 20, title, "middle", 16);
  for (double tick = 1; tick <= most; tick *= 2) {
    picture.line(x(tick), y(1), x(tick), y(most), "#dddddd");
    picture.line(x(1), y(tick), x(most), y(tick), "#dddddd");
    picture.text(x(tick), y(1) + 18, fmt::format("{}", tick), "middle");
    picture.text(left - 8, y(tick) + 4, fmt::format("{}", tick), "end");
  }
  picture.text(left + side / 2, top + side + 38, "processors", "middle");
  picture.text(left, top - 6, "speedup", "middle");

  for (std::size_t i = 0; i < serial_parts.size(); ++i) {
    std::vector<std::pair<double, double>> points;
    for (double octave = 0; octave <= octaves + 1e-9; octave += octaves / 60) {
      const double processors = std::exp2(octave);
      points.emplace_back(x(processors), y(law(serial_parts[i], processors)));
    }
    picture.curve(points, colours[i]);
    for (const Point& point : measured) {
      if (point.serial_part == serial_parts[i]) picture.circle(x(point.processors), y(point.speedup), 4.5, colours[i]);
    }
  }
}

inline void draw_laws(const std::string& file, const std::vector<Point>& fixed, const std::vector<Point>& grown) {
  double most = 16;
  for (const Point& point : fixed) {
    while (most < point.processors) most *= 2;
  }
  Svg picture(900, 500);
  draw_law(picture, 60, "Amdahl: the same work", amdahl, most, fixed);
  draw_law(picture, 510, "Gustafson: more work", gustafson, most, grown);
  for (std::size_t i = 0; i < serial_parts.size(); ++i) {
    const double left = 60 + 165 * static_cast<double>(i);
    picture.line(left, 478, left + 30, 478, colours[i], 2);
    picture.text(left + 36, 482, fmt::format("{:.0f} % serial", 100 * serial_parts[i]));
  }
  picture.text(870, 482, "points: measured", "end");
  picture.save(file);
}
