// Where the columns of a records.npy are that another version wrote, and how its rows become RecordRows.

#ifndef TENSORTAP_SYSTEM_TAP_FILE_COLUMNS_H_
#define TENSORTAP_SYSTEM_TAP_FILE_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "format/npy/npy_header.h"
#include "trace/record_row.h"

namespace tensortap::tap {

// Immutable.
class FileColumns {
 public:
  // Those of this version.
  FileColumns() = default;

  // Those that a header lists. Errors: kUnsupported when one that every version has is missing, a known one has another type, or any has a
  // type that NumPy does not have or more than 64 KiB.
  static Result<FileColumns> of(std::span<const NpyField> fields);

  // Those of the versions before columns could be added anywhere: for files whose header is damaged.
  static FileColumns of_narrow_rows();

  [[nodiscard]] uint64_t row_bytes() const { return row_bytes_; }
  // Whether rows are RecordRows as they are.
  [[nodiscard]] bool are_ours() const { return copies_.empty(); }
  [[nodiscard]] const std::vector<std::string>& unknown() const { return unknown_; }

  // Whether the row's writer came to its end with it. `row` has any alignment.
  [[nodiscard]] bool is_committed(const std::byte* row) const;
  void unmark(std::byte* row) const { row[committed_at_] = std::byte{0}; }  // is_committed() becomes false
  [[nodiscard]] RecordRow row_at(const std::byte* row) const;

 private:
  struct Copy {
    uint64_t from = 0;
    uint64_t to = 0;
    uint64_t size = 0;
  };

  void add_copy(Copy copy);

  uint64_t row_bytes_ = sizeof(RecordRow);
  uint64_t committed_at_ = offsetof(RecordRow, committed);
  uint32_t measured_ = ~uint32_t{0};  // Stat bits that have a column
  std::vector<Copy> copies_;          // neighbouring columns are one
  std::vector<std::string> unknown_;
};

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_FILE_COLUMNS_H_
