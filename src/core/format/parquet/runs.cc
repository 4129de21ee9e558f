#include "format/parquet/runs.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "base/spans.h"
#include "format/parquet/thrift_writer.h"

namespace tensortap::parquet {
namespace {

constexpr size_t kGroup = 8;      // numbers are packed by eight
constexpr size_t kLeastRun = 16;  // shorter ones are packed

// Whole groups; the last one is filled up with zeros.
void append_packed(std::span<const uint32_t> values, int bits, std::string& bytes) {
  if (values.empty()) return;
  const size_t groups = (values.size() + kGroup - 1) / kGroup;
  append_varint(groups << 1 | 1, bytes);
  uint64_t waiting = 0;
  int filled = 0;
  for (size_t i = 0; i < groups * kGroup; ++i) {
    waiting |= uint64_t{i < values.size() ? values[i] : 0} << filled;
    for (filled += bits; filled >= 8; filled -= 8) {
      bytes += static_cast<char>(waiting);
      waiting >>= 8;
    }
  }
}

void append_run(uint32_t value, size_t count, int bits, std::string& bytes) {
  append_varint(count << 1, bytes);
  for (int shift = 0; shift < bits; shift += 8) bytes += static_cast<char>(value >> shift);
}

}  // namespace

int bits_for(uint32_t most) { return std::max(1, static_cast<int>(std::bit_width(most))); }

void append_runs(std::span<const uint32_t> values, int bits, std::string& bytes) {
  size_t packed_from = 0;
  size_t at = 0;
  while (at < values.size()) {
    size_t end = at + 1;
    while (end < values.size() && values[end] == values[at]) ++end;
    if (end - at < kLeastRun) {
      at = std::min(values.size(), at + kGroup);  // only whole groups may be packed before a run
      continue;
    }
    append_packed(first_of(after(values, packed_from), at - packed_from), bits, bytes);
    append_run(values[at], end - at, bits, bytes);
    packed_from = at = end;
  }
  append_packed(after(values, packed_from), bits, bytes);
}

}  // namespace tensortap::parquet
