// The values that crash_writer_program writes, so that a test can check each record of its dump.

#ifndef TENSORTAP_TESTS_CRASH_PATTERN_H_
#define TENSORTAP_TESTS_CRASH_PATTERN_H_

#include <cstdint>
#include <vector>

namespace crash_pattern {

inline constexpr uint32_t kOps = 4;

// Output of op `op` in step `step`: its length and every value follow from the two. Whole numbers below 2^24: exact as floats.
inline std::vector<float> values(int64_t step, uint32_t op) {
  const auto seed = static_cast<uint64_t>(step) * 31 + op * 17;
  std::vector<float> made(seed % 5000 + 1);
  for (size_t i = 0; i < made.size(); ++i) made[i] = static_cast<float>((seed + i * 7919) % 1000003);
  return made;
}

}  // namespace crash_pattern

#endif  // TENSORTAP_TESTS_CRASH_PATTERN_H_
