// The columns and rows of statistic.csv, as each version has them.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_STATISTIC_ROW_H_
#define TENSORTAP_SYSTEM_MINDSPORE_STATISTIC_ROW_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "stats/digest.h"
#include "system/mindspore/release.h"
#include "tensor/tensor.h"
#include "trace/record_row.h"

namespace tensortap::mindspore {

// Digests of one tensor; kind kNone = not there.
struct StatisticDigests {
  Digest md5;
  Digest sha1;
};

// What one row tells besides its statistics. Borrowed for the call.
struct StatisticRow {
  std::string_view op_cells;  // "Add,Default/Add-op0,": type and name, clean, each with its comma
  uint64_t time_us = 0;
  bool is_input = false;
  uint32_t slot = 0;
  const RecordRow* record = nullptr;
  const StatisticDigests* digests = nullptr;
};

// Immutable. Thread-safe.
class StatisticTable {
 public:
  // `categories` is what the user asked, joined by ","; a version with fixed columns takes none of it. Errors: kInvalidArgument with the categories
  // that the version knows.
  static Result<StatisticTable> create(const TreeRules& version, std::string_view categories);

  [[nodiscard]] const std::string& header() const { return header_; }  // with its line end
  // Whether a digest is a column that a record with this one (a name of digest_from_name()) does not tell.
  [[nodiscard]] bool needs_values(std::string_view digest) const;
  // Makes the record's statistics what the rows want, as far as the data is needed for that, and takes or computes the digests that are columns. `data`
  // is packed, or null when only the statistics are there. Versions that leave NaN and Inf out want statistics of NonFinitePolicy::kSkipNonFinite, or
  // the data.
  void complete(RecordRow& record, const TensorView* data, StatisticDigests& digests) const;
  // Appends a row with its line end, of a completed record. Cells that it can not tell stay empty: statistics that were not measured, a digest of
  // another kind when there was no data. In the versions that let NaN and Inf in, they show in every cell that they reach, whatever the policy of the
  // record's statistics was.
  void append_row(const StatisticRow& row, std::string& text) const;

 private:
  enum class Cell : uint8_t { kMax, kMin, kAvg, kCount, kNegative, kPositive, kNan, kNegInf, kPosInf, kZero, kMd5, kL2Norm, kSha1 };
  struct Column {
    std::string_view category;
    std::string_view header;
    Cell cell;
    bool only_with_hash;
  };
  static const Column kColumns[];
  static std::vector<std::string_view> known(const TreeRules& version);

  explicit StatisticTable(const TreeRules& version) : version_(&version) {}
  Status choose(std::string_view categories);
  void add_column(const Column& column);
  void append_shape(const RecordRow& record, std::string& text) const;
  void append_cell(Cell cell, const StatisticRow& row, std::string& text) const;

  const TreeRules* version_;
  std::vector<Cell> cells_;
  std::string header_;
};

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_STATISTIC_ROW_H_
