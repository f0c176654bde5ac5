/// Points in time as Celery writes them: ISO 8601, such as 2026-01-31T09:30:00.250000+00:00.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "cookbook/print.hpp"

namespace celery {

using Time = std::chrono::system_clock::time_point;

inline Time now() { return std::chrono::system_clock::now(); }

inline Time after(double seconds, Time start = now()) {
  return start + std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds));
}

/// Seconds since 1970.
inline double timestamp(Time time = now()) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

inline std::string to_iso(Time time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date = day;
  const hh_mm_ss clock(floor<microseconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}+00:00", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

/// Nothing if `text` is no such time of the years 1970 to 2200. Without a zone it is Coordinated Universal Time.
inline std::optional<Time> from_iso(const std::string& text) {
  using namespace std::chrono;
  int y, hour, minute, length = 0, zone_hours = 0, zone_minutes = 0;
  unsigned m, d;
  double second;
  if (std::sscanf(text.c_str(), "%4d-%2u-%2u%*1[T ]%2d:%2d:%9lf%n", &y, &m, &d, &hour, &minute, &second, &length) !=
      6) {
    return {};
  }
  const std::string zone = text.substr(static_cast<std::size_t>(length));
  char sign[2] = "+", end;  // with room for the 0 at its end
  const bool zone_is_right =
      zone.empty() || zone == "Z" ||
      (std::sscanf(zone.c_str(), "%1[+-]%2d:%2d%c", sign, &zone_hours, &zone_minutes, &end) == 3);
  const year_month_day date{year(y), month(m), day(d)};
  if (!zone_is_right || !date.ok() || y < 1970 || y > 2200 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      !(second >= 0 && second < 61)) {
    return {};
  }
  const auto offset = (sign[0] == '-' ? -1 : 1) * (hours(zone_hours) + minutes(zone_minutes));
  return sys_days(date) + hours(hour) + minutes(minute) + microseconds(std::llround(second * 1e6)) - offset;
}

}  // namespace celery
