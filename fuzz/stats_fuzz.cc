// Bytes choose a dtype, an offset, a shape, strides and a policy, and are the data: every instruction set must equal the reference.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "stats/stats.h"
#include "stats/stats_compare.h"
#include "stats/stats_target.h"

namespace tensortap {
namespace {

// Takes numbers off the front of the input; zeros when there is none left.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  [[nodiscard]] const uint8_t* data() const { return data_; }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  const uint8_t* data_;
  size_t size_;
};

void check(const TensorView& view, const StatsOptions& options) {
  const TensorStats expected = compute_stats_reference(view, options);
  for (const std::string_view target : stats_targets()) {
    set_stats_target(target);
    const std::string what = difference(view.desc.dtype, expected, compute_stats(view, options));
    if (!what.empty()) {
      std::fprintf(stderr, "%s %s: %s\n", std::string(target).c_str(), std::string(dtype_name(view.desc.dtype)).c_str(), what.c_str());
      std::abort();
    }
  }
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tensortap;
  Input input(data, size);
  const auto dtype = static_cast<DType>(input.byte() % kDTypeCount);
  const uint64_t bits = dtype_info(dtype).bits;
  if (bits == 0) return 0;
  StatsOptions options;
  options.policy = static_cast<NonFinitePolicy>(input.byte() % 3);
  options.wanted = input.byte() % 2 == 0 ? kStatFull : kStatMinimal;
  options.sample_limit = input.byte();
  const size_t offset = input.byte() % 64;
  const auto rows = static_cast<int64_t>(input.byte() % 8);
  const int64_t strides[] = {static_cast<int8_t>(input.byte()) % 16, static_cast<int8_t>(input.byte()) % 4};
  // The input over and over, so that a short one fills blocks too.
  const uint64_t repeats = uint64_t{1} + input.byte() * (input.byte() % 4);
  const std::vector<uint8_t> once(input.data(), input.data() + input.size());
  std::vector<uint8_t> bytes(offset);
  for (uint64_t i = 0; i < repeats && bytes.size() < (1U << 18); ++i) bytes.insert(bytes.end(), once.begin(), once.end());
  const auto elements = static_cast<int64_t>((bytes.size() - offset) * 8 / bits);
  check({{dtype, Shape{elements}}, bytes.data() + offset, nullptr}, options);
  if (bits < 8 || rows == 0) return 0;
  // As many columns as the strides leave room for, starting in the middle so that they may be negative.
  const int64_t middle = elements / 2;
  const int64_t room = middle - std::abs(strides[0]) * (rows - 1);
  if (room <= 0) return 0;
  const int64_t columns = strides[1] == 0 ? 5 : std::max<int64_t>(1, room / std::abs(strides[1]));
  check({{dtype, Shape{rows, columns}}, bytes.data() + offset + static_cast<uint64_t>(middle) * bits / 8, strides}, options);
  return 0;
}
