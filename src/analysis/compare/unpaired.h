// Why a value has no partner in the other dump.

#ifndef TENSORTAP_COMPARE_UNPAIRED_H_
#define TENSORTAP_COMPARE_UNPAIRED_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compare/alignment.h"
#include "compare/pairing.h"
#include "compare/pairing_keys.h"

namespace tensortap {

enum class Absence : uint8_t {
  kFused,        // an op of the other dump implements the author's node, and returns another value; or the op and its reader together
  kRuntime,      // the runtime made it: a conversion of layout or type, a copy, or what ranks send each other where one process has all
  kRemoved,      // known before the program runs, or drawn or filled in at random, or only passed on, or asked for what to do next
  kOtherWay,     // a step on the way to a value that is the same in both dumps, which the other program makes by other steps
  kUnexplained,  // none of these
};
inline constexpr size_t kAbsences = 5;
std::string_view absence_name(Absence absence);  // "fused", "made by the runtime", "removed", "another way", "not explained"

struct Unpaired {
  ValueId id = kNoValue;
  Absence why = Absence::kUnexplained;
  // kFused: name of the op of the other dump; kOtherWay: of the one that makes the value behind it; kUnexplained: of the one that
  // implements the same, but holds other values, or of the one that makes a value of it that is out
  std::string by;
  // kUnexplained, and no value that is made of it has a partner, or a graph hands it out: results of the program were not compared.
  bool is_open_end = false;
};

// The values that ops of `mine` made, that take part and have no pair, in the order of execution. `pair_of_other` is of the other dump,
// `pairs` what both are numbers of.
std::vector<Unpaired> explain_unpaired(const PairingKeys& mine, const std::vector<uint32_t>& pair_of_mine, const PairingKeys& other,
                                       const std::vector<uint32_t>& pair_of_other, const std::vector<ValuePair>& pairs);

// By value of `keys`: a value with a partner that is made of it, through values without one, and whose pair is in `wanted`; kNoValue
// where there is none. `pair_of` and `wanted` are by value and by pair.
std::vector<ValueId> what_leads_to(const PairingKeys& keys, const std::vector<uint32_t>& pair_of, const std::vector<bool>& wanted);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_UNPAIRED_H_
