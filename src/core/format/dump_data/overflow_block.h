// The block of 2048 bytes that describes an overflow: the payload of Opdebug.Node_OpDebug files. docs/formats/dump_data.md.

#ifndef TENSORTAP_FORMAT_DUMP_DATA_OVERFLOW_BLOCK_H_
#define TENSORTAP_FORMAT_DUMP_DATA_OVERFLOW_BLOCK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"

namespace tensortap {

inline constexpr size_t kOverflowBlockBytes = 2048;

// Which op overflowed.
struct OverflowBlock {
  uint64_t model = 0;
  uint64_t stream = 0;
  uint64_t task = 0;
  friend bool operator==(const OverflowBlock&, const OverflowBlock&) = default;
};

// As newer devices write it, for a computing core.
std::array<std::byte, kOverflowBlockBytes> make_overflow_block(const OverflowBlock& overflow);

// What a block says, of newer devices or of older ones. Errors: kCorrupt when it has another size, or says that it is of a kind that is not
// known.
Result<Json> overflow_block_json(std::span<const std::byte> block);

// The ops in such JSON, including MindSpore's files. If it describes three places, those with a state count, or if none has one, the
// computing core. Empty for other JSON.
std::vector<OverflowBlock> overflows_in(const Json& description);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_DUMP_DATA_OVERFLOW_BLOCK_H_
