// The records between a pair and the nearest pairs among its inputs.

#ifndef TENSORTAP_COMPARE_WAY_BETWEEN_H_
#define TENSORTAP_COMPARE_WAY_BETWEEN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "compare/value_table.h"

namespace tensortap {

// One side of it. Rows are those of its dump.
struct WayBetween {
  std::vector<uint32_t> inputs;   // records with a partner, each once
  std::vector<uint32_t> between;  // records without a partner on the way to these
  bool complete = true;           // everything that ops made on the way was captured
};

// Follows what the execution behind `row` read through records without a partner. `partners` is by row, kNoRow without a partner.
WayBetween way_between(const ValueTable& table, std::span<const uint32_t> partners, uint32_t row);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_WAY_BETWEEN_H_
