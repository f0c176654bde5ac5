/// Drawing a picture as SVG: text that any browser shows. Lengths are in pixels, y grows downwards.
#pragma once

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

/// A picture that is put together shape by shape; save() writes it. Colours are what SVG knows: "black", "#0072b2".
class Svg {
 public:
  Svg(double width, double height) : width_(width), height_(height) { rectangle(0, 0, width, height, "white"); }

  void line(double x1, double y1, double x2, double y2, std::string_view colour, double thickness = 1) {
    add(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="{}"/>)", x1, y1, x2, y2,
        colour, thickness);
  }

  void rectangle(double x, double y, double width, double height, std::string_view colour) {
    add(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"/>)", x, y, width, height, colour);
  }

  /// `anchor` says which part of the text stands at (x, y): start, middle or end.
  void text(double x, double y, std::string_view words, std::string_view anchor = "start", int size = 13) {
    std::string safe;
    for (const char c : words) safe += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" font-size="{}">{}</text>)", x, y, anchor, size, safe);
  }

  /// Throws std::runtime_error, naming the file, if it cannot be written.
  void save(const std::string& file) const {
    std::ofstream out(file);
    out << fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" )",
                       width_, height_)
        << "font-family=\"sans-serif\">\n"
        << shapes_ << "</svg>\n";
    out.flush();
    if (!out) throw std::runtime_error("cannot write " + file);
  }

 private:
  template <typename... Values>
  void add(fmt::format_string<Values...> shape, Values&&... values) {
    shapes_ += fmt::format(shape, std::forward<Values>(values)...) + '\n';
  }

  double width_, height_;
  std::string shapes_;
};
