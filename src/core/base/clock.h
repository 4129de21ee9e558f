// Time: monotonic for intervals, wall clock for names and manifests.

#ifndef TENSORTAP_BASE_CLOCK_H_
#define TENSORTAP_BASE_CLOCK_H_

#include <cstdint>
#include <ctime>
#include <string>

namespace tensortap {

inline int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The same clock, to some milliseconds, for a tenth of the price.
inline int64_t coarse_monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Microseconds since 1970.
inline uint64_t wall_clock_us() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

// "20261121080311042": that moment in local time, to the millisecond. "" for a moment that no calendar has.
std::string wall_clock_digits(uint64_t time_us);

// "20261121-080311" in local time; the default name of a dump.
std::string wall_clock_name();
// "2026-11-21T08:03:11Z".
std::string wall_clock_iso();

}  // namespace tensortap

#endif  // TENSORTAP_BASE_CLOCK_H_
