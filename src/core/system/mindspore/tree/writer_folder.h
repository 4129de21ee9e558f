// The folder of one iteration while it is written: its files, and the rows of statistic.csv that wait for a whole block.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_FOLDER_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_FOLDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "system/mindspore/statistics.h"
#include "tree/named_folder.h"

namespace tensortap::mindspore {

// Files appear at once and can only be read, as MindSpore leaves them.
constexpr FolderRules tree_rules(Access access) { return {access, true, FolderRules::Visible::kAtOnce, FolderRules::LongName::kDrawn}; }

// Thread-compatible.
class IterationFolder {
 public:
  // `header` is that of statistic.csv, and outlives the folder.
  IterationFolder(std::shared_ptr<NamedFolder> files, std::string_view header) : files_(std::move(files)), header_(header) {}

  [[nodiscard]] NamedFolder& files() const { return *files_; }
  // Takes a row of statistic.csv, to be written in blocks. When that fails, the row is not taken.
  Status add_statistic(std::string_view row) {
    static constexpr size_t kBlock = size_t{64} << 10;
    // The first row opens the file, so that a file that cannot take rows is reported at once.
    if (!opened_) TENSORTAP_RETURN_IF_ERROR(files_->append_rows(std::string(kStatisticFile), header_, {}));
    opened_ = true;
    if (rows_.size() + row.size() > kBlock) TENSORTAP_RETURN_IF_ERROR(flush());
    rows_ += row;
    return {};
  }
  // Writes the rows that wait. They go on waiting when that fails.
  Status flush() {
    if (!rows_.empty()) TENSORTAP_RETURN_IF_ERROR(files_->append_rows(std::string(kStatisticFile), header_, rows_));
    rows_.clear();
    return {};
  }
  [[nodiscard]] uint64_t waiting_rows_bytes() const { return rows_.size(); }

 private:
  std::shared_ptr<NamedFolder> files_;
  std::string_view header_;
  std::string rows_;
  bool opened_ = false;
};

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_FOLDER_H_
