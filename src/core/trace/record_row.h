// RecordRow: one tensor of one execution of one op, as a fixed row. The unit of every layout, reader and comparison, and, byte for byte,
// the row of records.npy (docs/layouts/tap.md). Readers find columns by their names, so that later versions may add some anywhere.

#ifndef TENSORTAP_TRACE_RECORD_ROW_H_
#define TENSORTAP_TRACE_RECORD_ROW_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tensor/tensor.h"
#include "tensor/tensor_sketch.h"
#include "tensor/tensor_stats.h"
#include "trace/op_info.h"

namespace tensortap {

// RecordRow::flags.
enum RecordFlag : uint8_t {
  kRecordHasData = 1U << 0,     // data_offset and data_bytes are set
  kRecordDataLost = 1U << 1,    // data was wanted and is missing (budget, disk, crash); the losses give the reason
  kRecordRaw = 1U << 2,         // data is raw bits of a type NumPy cannot name
  kRecordFailedOp = 1U << 3,    // an input of an op that failed
  kRecordForReaders = 1U << 4,  // kept because an op that reads it was asked for
  kRecordUnwritten = 1U << 5,   // memory that nothing was written to since it was allocated: described, never looked into
  kRecordFromRing = 1U << 6,    // of one of the last ops before the trigger fired (limits.ring_ops)
  kRecordBlocked = 1U << 7,     // the runtime's blocks of channels: [N, C, ...] as [N, C / size, ..., size]
};

// RecordRow::strided: what a row knows of how the tensor lay in memory. Its values, where it has them, are packed in any case.
enum class Strided : uint8_t {
  kNo,       // contiguous, or not known
  kKept,     // by `strides`
  kNotKept,  // by strides that the row has no room for: of more than kRowDims dimensions, or beyond 32 bits
};

// Dimensions that a row holds as 64-bit numbers.
inline constexpr int kRowDims = 16;

// RecordRow::value_flags.
enum ValueFlag : uint8_t {
  kValueRoleKnown = 1U << 0,  // whether the tensor is a parameter is known, and kValueParameter says it
  kValueParameter = 1U << 1,
  kValueOwnName = 1U << 2,          // the name that the op has for the slot is the tensor's own
  kValueOtherName = 1U << 3,        // it is that of another call's tensor
  kValueLeft = 1U << 4,             // its NaN and Inf were there before the op, in memory that nothing was written to
  kValueInCompiledCode = 1U << 5,   // the op ran in compiled code: kernels that are not ops read and write between its ops
  kValueNotLookedAt = 1U << 6,      // it has elements, and they are in memory that the host cannot read
  kValuePartlyUnwritten = 1U << 7,  // nothing was written to some of its elements since the memory was allocated
};

struct RecordRow {
  uint64_t sequence = 0;  // order in which events were seen, from 0
  int64_t step = 0;
  uint64_t run = 0;          // which of several runs at the same time
  int64_t time_ns = 0;       // since the session opened
  int64_t duration_ns = -1;  // of the op, -1 = not measured
  uint32_t op = kNoOp;       // line of ops.jsonl, from 0
  uint32_t call = 0;         // how many times the op had run in this step and run before
  uint32_t thread = 0;       // number given to each thread by the session
  int32_t rank = 0;          // of the process in its job
  int64_t element = -1;      // element number of a sequence
  uint16_t slot_index = 0;
  uint8_t slot_kind = 0;   // SlotKind
  uint8_t phase = 0;       // Phase
  uint8_t moment = 0;      // Moment
  uint8_t dtype = 0;       // DType
  uint8_t dims_count = 0;  // of `shape`; up to kMaxRank
  uint8_t flags = 0;       // RecordFlag bits
  uint64_t numel = 0;
  uint64_t bytes = 0;            // packed size of the whole tensor
  int64_t shape[kRowDims] = {};  // of more dimensions: all of them in the same bytes, as 32-bit numbers; use desc()
  TensorStats stats;
  uint64_t data_offset = 0;  // of the packed elements in tensors.npz (other layouts: reader's own number)
  uint64_t data_bytes = 0;
  uint64_t member = 0;     // member number in tensors.npz
  uint64_t histogram = 0;  // row of histograms.npy + 1, 0 = none
  uint8_t digest[20] = {};
  uint8_t digest_kind = 0;   // DigestKind
  uint8_t committed = 0;     // 1 once everything the row speaks of is in the files; written last
  uint16_t data_header = 0;  // bytes between the beginning of the member's local header in tensors.npz and data_offset
  uint64_t storage = 0;      // number of the block of memory that holds the tensor, 0 = unknown
  uint64_t version = 0;      // which content of the block this is; means nothing without `storage`
  uint64_t view = 0;         // which view of the block: with equal types and shapes the same elements in the same order; 0 = unknown
  uint32_t position = 0;     // of the tensor among the inputs or outputs of its op, where every element of a list counts; 0 = its slot
  int32_t strides[kRowDims] = {};  // in elements, for each of the dimensions; use strides_of()
  uint8_t strided = 0;             // Strided
  uint8_t element_order = 0;       // 2 + the number by which the runtime calls the order of the elements, 0 = not known
  uint8_t sketch = 0;              // SketchState
  uint8_t value_flags = 0;         // ValueFlag bits
  uint8_t model_phase = 0;         // ModelPhase: what the model did in the step, where the source tells it of steps
  uint8_t spare[47] = {};          // zeros; for columns to come

  // Whether set_desc() keeps every dimension. False only for more than kRowDims of them, one of which needs more than 32 bits.
  [[nodiscard]] static bool holds(const Shape& shape);
  // Sets dtype, dims_count, shape, numel and bytes. Of a shape that the row does not hold, the first kRowDims dimensions are kept.
  void set_desc(const TensorDesc& desc);
  // The same where the number of elements and their packed size are known.
  void set_desc(const TensorDesc& desc, uint64_t elements, uint64_t size);
  // Sets strided and strides. The view has the shape that set_desc() was given.
  void set_strides(const TensorView& tensor);
  // One for each dimension, in elements; empty unless Strided::kKept. Borrows from the row.
  [[nodiscard]] std::span<const int32_t> strides_of() const;
  [[nodiscard]] uint32_t file_slot() const { return position > slot_index ? position : slot_index; }  // where formats have no lists
  [[nodiscard]] TensorDesc desc() const;  // hostile rows give a desc of at most kMaxRank dimensions
};
static_assert(sizeof(RecordRow) == 576);

// The rows of the versions whose columns ended with `value_flags`, without `mean_abs` and `subnormal`. `row` has kNarrowRowBytes, of any
// alignment.
inline constexpr size_t kNarrowRowBytes = 512;
inline constexpr size_t kNarrowBytesBeforeData = 360;  // of `data_offset`, the first column that has another place now
RecordRow row_of_narrow(const std::byte* row);

// One column of records.npy, for the npy header, `ls --sort` and docs. In order, without gaps.
struct RecordField {
  std::string_view name;
  std::string_view numpy_type;  // "<u8", "|u1", "(16,)<i8" is given as type "<i8" and count 16
  uint32_t offset;
  uint32_t count;  // 1 for a scalar
};
std::span<const RecordField> record_fields();
// The first columns, which every version has; those after them lay in a column `spare` before.
std::span<const RecordField> first_record_fields();

// "out0", "in1", "weight0", "grad0".
std::string slot_name(SlotKind kind, uint32_t index);
bool parse_slot(std::string_view text, SlotKind& kind, uint32_t& index);

// "name:out0", with "@step" and "#call" when they are not 0 and "[element]" for elements of a sequence: how people write a record.
std::string record_name(const RecordRow& row, std::string_view op_name);
struct RecordKey {
  std::string op;
  SlotKind slot_kind = SlotKind::kOutput;
  uint32_t slot_index = 0;
  std::string weight;  // of "weight:NAME"
  int64_t step = 0;
  uint32_t call = 0;
  int64_t element = -1;
};
// Splits from the right, since op names may hold any character. A text without ":slot" means out0. False when nothing is left as a name.
bool parse_record_name(std::string_view text, RecordKey& key);

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_RECORD_ROW_H_
