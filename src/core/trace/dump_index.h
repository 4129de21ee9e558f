// DumpIndex: the records of one dump of any layout, looked up and read lazily.

#ifndef TENSORTAP_TRACE_DUMP_INDEX_H_
#define TENSORTAP_TRACE_DUMP_INDEX_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "trace/completeness.h"
#include "trace/op_info.h"
#include "trace/record_row.h"

namespace tensortap {

// Data of one record. `view` borrows from `owner` (decoded or unpacked bytes, string elements), or from the index where the file is mapped.
struct RecordData {
  TensorView view;
  std::shared_ptr<const void> owner;  // null when `view` borrows from the index; shared with Python arrays made from it
};

// An open dump. Immutable after open; thread-safe. Every file behind it is untrusted.
class DumpIndex {
 public:
  virtual ~DumpIndex() = default;
  DumpIndex(const DumpIndex&) = delete;
  DumpIndex& operator=(const DumpIndex&) = delete;

  virtual std::string_view layout() const = 0;  // "tap", "mindspore", ...
  // The model that the ops belong to, if the tree itself names it and not only its manifest; "" otherwise.
  [[nodiscard]] virtual std::string_view model() const { return ""; }
  virtual std::span<const RecordRow> rows() const = 0;
  virtual std::span<const OpInfo> ops() const = 0;
  // Data of rows()[row]. kNotFound when the record has statistics only; kCorrupt when the files do not hold what the row says.
  virtual Result<RecordData> data(size_t row) const = 0;
  // The file that holds a record, relative to the dump; "" when none does.
  virtual std::string file(size_t row) const = 0;
  // The name of an op in the files of the dump, where it differs from the op's name; "" otherwise.
  [[nodiscard]] virtual std::string_view file_name_of(OpId /*op*/) const { return ""; }
  // The dump's own manifest (run.json) as JSON text, "{}" when there is none.
  virtual std::string manifest() const = 0;
  // What was skipped while opening (damaged rows, foreign files), one sentence each. Empty for a whole dump.
  virtual std::span<const std::string> problems() const = 0;
  // Columns of its records that a later version wrote and this one does not know. Their values stay in the file.
  [[nodiscard]] virtual std::vector<std::string> unknown_columns() const { return {}; }
  // Whether the dump holds all that its capture wrote. Unknown where nothing tells.
  [[nodiscard]] virtual Completeness completeness() const { return {}; }
  // Serialised values of attributes, to which OpInfo::attributes refer as {"ref": [offset, size]} (docs/layouts/tap.md); borrowed, empty
  // where there are none.
  [[nodiscard]] virtual std::string_view attribute_bytes() const { return {}; }
  // The content of a file of kStepDocuments; op numbers in it are those of ops(). kNotFound when the dump has none, kExhausted when it is
  // too large.
  [[nodiscard]] virtual Result<std::string> document(std::string_view name) const { return not_found(std::string(name)); }
  // Exponent histogram of a record as 283 numbers (bins, zero, nan, inf); empty when none was taken.
  virtual std::vector<uint64_t> histogram(size_t row) const = 0;
  // The sketch of a record of which has_sketch() is true. kNotFound when there is none, kCorrupt when the files do not hold it.
  [[nodiscard]] virtual Result<TensorSketch> sketch(size_t /*row*/) const { return not_found("the record has no sketch"); }

 protected:
  DumpIndex() = default;
};

// The op of a row, or an empty OpInfo for a row that names none.
const OpInfo& op_of(const DumpIndex& dump, const RecordRow& row);

// The row that `key` names; inputs and weights of ops whose records were made by their producers are resolved to those. kNotFound with the
// nearest names otherwise. Looking one up is linear in the ops and rows: readers that ask often build their own map.
Result<size_t> find_record(const DumpIndex& dump, const RecordKey& key);

// The manifest; an empty object where there is none, or it is no JSON object.
Json manifest_json(const DumpIndex& dump);

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_DUMP_INDEX_H_
