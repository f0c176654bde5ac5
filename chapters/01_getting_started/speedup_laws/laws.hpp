/// Speedup and its two laws. Times are in any unit; a serial part is a share from 0 to 1.
#pragma once

/// How many times as fast: the time on one processor over the time on several.
constexpr double speedup(double time_alone, double time_together) { return time_alone / time_together; }

/// The speedup per processor: 1 is linear. If each processor is as fast beside others as alone, this is the share of
/// their time that goes into the work of the serial program.
constexpr double efficiency(double speedup, double processors) { return speedup / processors; }

/// Amdahl (1967): the work stays the same, and its serial part takes its time whatever the number of processors.
constexpr double amdahl(double serial_part, double processors) {
  return 1 / (serial_part + (1 - serial_part) / processors);
}

/// What Amdahl's law tends to when the number of processors grows without end.
constexpr double amdahl_limit(double serial_part) { return 1 / serial_part; }

/// Gustafson (1988): the time stays the same, and more processors do more parallel work in it. The serial part is its
/// share of the time, by the clock, of the run on all of them.
constexpr double gustafson(double serial_part, double processors) {
  return processors - serial_part * (processors - 1);
}

/// Karp and Flatt (1990): the serial part that, by Amdahl's law, explains a measured speedup on 2 processors or more.
constexpr double serial_part_of(double speedup, double processors) {
  return (1 / speedup - 1 / processors) / (1 - 1 / processors);
}
