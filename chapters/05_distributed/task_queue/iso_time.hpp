/// Points in time as Celery writes them into a message: ISO 8601, such as 2026-01-31T09:30:00.250000+00:00.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "cookbook/print.hpp"

namespace task_queue {

using Time = std::chrono::system_clock::time_point;

inline std::string to_iso(Time time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date = day;
  const hh_mm_ss clock(floor<microseconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}+00:00", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

/// Nothing if `text` is no such time. Without a time zone it is Coordinated Universal Time.
inline std::optional<Time> from_iso(std::string_view text) {
  using namespace std::chrono;
  bool right = true;
  const auto sign = [&](std::string_view allowed) {  // takes one of these characters off the front, if it is there
    if (text.empty() || allowed.find(text[0]) == std::string_view::npos) return '\0';
    const char found = text[0];
    text.remove_prefix(1);
    return found;
  };
  const auto number = [&](int digits) {
    int value = 0;
    for (int i = 0; i < digits; ++i) {
      const char digit = sign("0123456789");
      right = right && digit;
      value = 10 * value + digit - '0';
    }
    return right ? value : 0;
  };
  const auto expect = [&](std::string_view allowed) { right = right && sign(allowed); };

  const year y(number(4));
  expect("-");
  const month m(static_cast<unsigned>(number(2)));
  expect("-");
  const day d(static_cast<unsigned>(number(2)));
  expect("T ");
  const int hour = number(2);
  expect(":");
  const int minute = number(2);
  expect(":");
  const int second = number(2);
  int micro = 0;
  if (sign(".")) {
    for (int weight = 100'000, digit = sign("0123456789"); digit; digit = sign("0123456789"), weight /= 10) {
      micro += weight * (digit - '0');
    }
  }
  minutes zone(0);
  if (const char direction = sign("+-")) {
    zone += hours(number(2));
    sign(":");
    zone += minutes(number(2));
    if (direction == '-') zone = -zone;
  } else {
    sign("Z");
  }

  const year_month_day date(y, m, d);
  // The system's clock counts nanoseconds in 64 bits, and ends in 2262.
  const bool in_range = date.ok() && y >= year(1970) && y <= year(2200) && hour < 24 && minute < 60 && second <= 60;
  if (!right || !text.empty() || !in_range) return {};
  return sys_days(date) + hours(hour) + minutes(minute) + seconds(second) + microseconds(micro) - zone;
}

}  // namespace task_queue
