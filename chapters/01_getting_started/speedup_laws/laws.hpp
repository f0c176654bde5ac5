/// Speedup and what bounds it. Times in any unit; a serial part is a share of the work, from 0 to 1.
#pragma once

#include <string>

/// How many times as fast: the time of one processor over the time of several.
constexpr double speedup(double serial_time, double parallel_time) { return serial_time / parallel_time; }

/// The share of its processors that a program makes use of.
constexpr double efficiency(double speedup, double processors) { return speedup / processors; }

inline std::string kind_of(double speedup, double processors) {
  return speedup == processors ? "linear" : speedup < processors ? "real" : "superlinear";
}

/// Amdahl: the work stays as it is, and the serial part takes its time whatever the number of processors.
constexpr double amdahl(double serial_part, double processors) {
  return 1 / (serial_part + (1 - serial_part) / processors);
}

/// What Amdahl's law leaves with processors without end.
constexpr double amdahl_limit(double serial_part) { return 1 / serial_part; }

/// Gustafson: the time stays as it is, and more processors do more parallel work in it. The serial part is its share of
/// the time that several processors take.
constexpr double gustafson(double serial_part, double processors) {
  return processors - serial_part * (processors - 1);
}

/// Karp and Flatt: Amdahl's law backwards. The serial part that explains a measured speedup.
constexpr double serial_part_of(double speedup, double processors) {
  return (1 / speedup - 1 / processors) / (1 - 1 / processors);
}
