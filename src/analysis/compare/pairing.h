// Which value of one dump is which of the other. Names alone are wrong too often: a rule proposes a pair, and what both hold decides.

#ifndef TENSORTAP_COMPARE_PAIRING_H_
#define TENSORTAP_COMPARE_PAIRING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/alignment.h"
#include "compare/pairing_keys.h"
#include "compare/value_judge.h"
#include "compare/value_table.h"

namespace tensortap {

// In the order in which they are asked. Each takes what those before it left, and only where equally many values of both have one key;
// those are then paired in the order of execution.
enum class PairRule : uint8_t { kMap, kName, kIdentity, kOriginal, kScope, kTopology, kContent, kStatistics, kSequence };
inline constexpr size_t kPairRules = 9;
// The relative L2 up to which values that have nothing else in common are paired.
inline constexpr double kNearlyEqual = 1e-4;
// "map", "value name", "identity", "last original", "scope", "topology", "content", "statistics", "sequence".
std::string_view pair_rule_name(PairRule rule);

struct ValuePair {
  ValueId a = kNoValue;
  ValueId b = kNoValue;
  PairRule rule = PairRule::kIdentity;
  Acceptance accepted;
};

struct Pairing {
  std::vector<ValuePair> pairs;
  std::vector<uint32_t> pair_of_a;  // by value: position in `pairs`, kNoPair without one
  std::vector<uint32_t> pair_of_b;
  std::array<size_t, kPairRules> refused{};  // proposals whose values were not the same, by rule
  bool same_program = false;                 // the ops and their values are the same in both dumps

  static constexpr uint32_t kNoPair = 0xffffffffU;
};

struct PairingOptions {
  std::vector<std::pair<ValueId, ValueId>> map;                                  // by a person
  std::function<void(std::string_view rule, size_t done, size_t all)> progress;  // may be empty
};

// Reads the data of the first executions of what is proposed. Memory is linear in the values, not in the records.
Pairing pair_values(const PairingKeys& a, const PairingKeys& b, const ValueJudge& judge, const PairingOptions& options);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_PAIRING_H_
