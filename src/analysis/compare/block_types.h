// Weights that programs keep in blocks of few bits, as ggml does: what such a type loses of the numbers in it.

#ifndef TENSORTAP_COMPARE_BLOCK_TYPES_H_
#define TENSORTAP_COMPARE_BLOCK_TYPES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/dump_index.h"
#include "trace/op_info.h"

namespace tensortap {

// The step of numbers that a product turns into blocks of 8 bits before it multiplies them.
inline constexpr double kStepOfMultipliedBlocks = 0.007;

// The type of the blocks that a weight was in (attribute "ggml_type"), or that an op read ("weight_type"); "" = none.
std::string block_type_of(const OpInfo& op);

// The relative L2 that blocks of a type lose of numbers that are spread as weights are; 0 for "", that of the coarsest for a type that is
// not known.
double loss_of_blocks(std::string_view type);

// The most that a weight in a row may differ from what it was before: by an error of half a step in each element, and by half of that on
// top, relative L2. Infinite for a type that is not known or data that are missing. Reads the data.
double most_lost_in_blocks(const DumpIndex& dump, uint32_t row);

// How far a weight may be from its partner because of its blocks, where the other side has it in others or in none; 0 = not at all.
double limit_of_blocks(const DumpIndex& a, uint32_t row_a, const DumpIndex& b, uint32_t row_b);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_BLOCK_TYPES_H_
