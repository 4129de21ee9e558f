// A dump with the records of one execution, of which only parts are left.

#ifndef TENSORTAP_REPLAY_CUT_DUMP_H_
#define TENSORTAP_REPLAY_CUT_DUMP_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"
#include "trace/dump_index.h"

namespace tensortap {

// A part of a tensor: for each dimension where it begins and how much is left.
struct TensorBox {
  std::vector<int64_t> first;
  std::vector<int64_t> count;
};
TensorBox whole_box(const Shape& shape);
// Whether a part of such a tensor can be taken: elements of whole bytes.
bool can_be_cut(DType dtype);
// The elements of a contiguous tensor that are in the box, packed.
std::vector<std::byte> cut_elements(const TensorView& view, const TensorBox& box);

// Borrows `dump`. Row n is row rows[n] of it, cut to boxes[n].
class CutDump : public DumpIndex {
 public:
  CutDump(const DumpIndex& dump, std::span<const uint32_t> rows, std::vector<TensorBox> boxes);
  [[nodiscard]] std::string_view layout() const override { return dump_.layout(); }
  [[nodiscard]] std::span<const RecordRow> rows() const override { return rows_; }
  [[nodiscard]] std::span<const OpInfo> ops() const override { return dump_.ops(); }
  [[nodiscard]] Result<RecordData> data(size_t row) const override;
  [[nodiscard]] std::string file(size_t /*row*/) const override { return ""; }
  [[nodiscard]] std::string manifest() const override { return dump_.manifest(); }
  [[nodiscard]] std::span<const std::string> problems() const override { return {}; }
  [[nodiscard]] Completeness completeness() const override { return dump_.completeness(); }
  [[nodiscard]] std::string_view attribute_bytes() const override { return dump_.attribute_bytes(); }
  [[nodiscard]] std::vector<uint64_t> histogram(size_t /*row*/) const override { return {}; }

 private:
  const DumpIndex& dump_;
  std::vector<uint32_t> numbers_;  // of dump_
  std::vector<RecordRow> rows_;
  std::vector<TensorBox> boxes_;
};

}  // namespace tensortap

#endif  // TENSORTAP_REPLAY_CUT_DUMP_H_
