#include "compare/memory_addresses.h"

#include <cstddef>
#include <cstring>

namespace tensortap {
namespace {

constexpr uint64_t kMostAddresses = uint64_t{1} << 16U;
constexpr uint64_t kFirstAddress = uint64_t{1} << 32U;
constexpr uint64_t kEndOfAddresses = uint64_t{1} << 57U;
constexpr uint64_t kAlignment = 16;

}  // namespace

bool holds_addresses(const DumpIndex& dump, uint32_t number) {
  const RecordRow& row = dump.rows()[number];
  const auto dtype = static_cast<DType>(row.dtype);
  if ((dtype != DType::kInt64 && dtype != DType::kUInt64) || (row.flags & kRecordHasData) == 0 || row.numel > kMostAddresses) return false;
  const Result<RecordData> data = dump.data(number);
  if (!data.ok() || data->view.data == nullptr || data->view.strides != nullptr) return false;
  bool any = false;
  for (uint64_t i = 0; i < row.numel; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(data->view.data) + i * sizeof value, sizeof value);
    if (value == 0) continue;
    if (value < kFirstAddress || value >= kEndOfAddresses || value % kAlignment != 0) return false;
    any = true;
  }
  return any;
}

}  // namespace tensortap
