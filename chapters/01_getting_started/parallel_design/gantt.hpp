/// The picture of parallel_design: who did what, when.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "on_paper.hpp"
#include "svg.hpp"

/// The turns of one run.
struct Course {
  std::string_view name;
  std::size_t workers;
  std::vector<Turn> turns;
};

/// Draws courses below each other, a lane a worker, all to one scale. The line is where a perfect mapping would end:
/// all workers busy until then. Tasks from the item `hot` on have colours of their own.
inline void draw_courses(Svg& picture, double left, std::string_view title, const std::vector<Course>& courses,
                         long hot, std::string_view unit, double units) {
  constexpr double width = 390, height = 60, gap = 34;
  double longest = 0, perfect = std::numeric_limits<double>::max();
  for (const Course& course : courses) {
    double busy = 0;
    for (const Turn& turn : course.turns) busy += turn.end - turn.begin;
    perfect = std::min(perfect, busy / static_cast<double>(course.workers));
    longest = std::max(longest, makespan(course.turns));
  }
  const auto x = [&](double time) { return left + width * time / longest; };

  picture.text(left, 22, title, "start", 15);
  double top = 60;
  for (const Course& course : courses) {
    const double lane = height / static_cast<double>(course.workers);
    picture.rectangle(left, top, width, height, "#eeeeee");
    for (const Turn& turn : course.turns) {
      const bool odd = turn.task.first / (turn.task.last - turn.task.first) % 2 != 0;
      const std::string_view colour =
          turn.task.first >= hot ? (odd ? "#d55e00" : "#e69f00") : (odd ? "#0072b2" : "#56b4e9");
      picture.rectangle(x(turn.begin), top + lane * static_cast<double>(turn.worker),
                        std::max(x(turn.end) - x(turn.begin), 0.3), 0.85 * lane, colour);
    }
    picture.text(left, top - 6, course.name);
    picture.text(left + width, top - 6, fmt::format("{:.1f} {}", makespan(course.turns) / units, unit), "end");
    picture.line(x(perfect), top - 3, x(perfect), top + height + 3, "black", 1.5);
    top += height + gap;
  }
}

inline void draw_gantt(const std::string& file, const std::vector<Course>& paper, const std::vector<Course>& measured,
                       long hot) {
  Svg picture(880, 560);
  const auto title = [](const std::string& what, const std::vector<Course>& courses) {
    return fmt::format("{}, {} workers", what, courses.front().workers);
  };
  draw_courses(picture, 25, title("on paper", paper), paper, hot, "thousand units", 1e3);
  draw_courses(picture, 465, title("measured", measured), measured, hot, "ms", 1e-3);
  picture.rectangle(25, 532, 14, 14, "#0072b2");
  picture.rectangle(39, 532, 14, 14, "#56b4e9");
  picture.text(60, 544, "tasks");
  picture.rectangle(125, 532, 14, 14, "#d55e00");
  picture.rectangle(139, 532, 14, 14, "#e69f00");
  picture.text(160, 544, "tasks of the costly quarter");
  picture.rectangle(365, 532, 28, 14, "#eeeeee");
  picture.text(400, 544, "idle");
  picture.line(470, 530, 470, 548, "black");
  picture.text(480, 544, "end of a perfect mapping");
  picture.save(file);
}
