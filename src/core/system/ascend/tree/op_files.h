// Writes the files of an op's execution: one of tensors, one of statistics, one of an overflow, in the folder of their step.

#ifndef TENSORTAP_SYSTEM_ASCEND_TREE_OP_FILES_H_
#define TENSORTAP_SYSTEM_ASCEND_TREE_OP_FILES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "layout/dump_room.h"
#include "system/ascend/statistics.h"
#include "system/ascend/tree/op_execution.h"
#include "system/ascend/tree/options.h"
#include "tree/named_folder.h"

namespace tensortap::ascend {

// Thread-compatible; bytes_written() may be asked from any thread. `options` has to outlive it.
class OpFiles {
 public:
  // The place of the last payload in the tensors' file that was written last; an empty path = none.
  struct LastPayload {
    std::string path;
    uint64_t offset = 0;
  };

  OpFiles(const Options& options, StatisticTable table) : options_(options), table_(std::move(table)), room_(options.max_bytes) {}

  // Writes the files of one execution, none for an op without a file. `overflow_task` is the number in the name of an overflow's file.
  // Errors: those of the file system and those that DumpRoom::is_no_room() knows. A file exists as a whole or not at all.
  Status write(const Op& op, Execution& execution, uint64_t overflow_task);

  // From now on tensors of four and five dimensions are described as images.
  void has_images() { has_images_ = true; }

  [[nodiscard]] const LastPayload& last() const { return last_; }
  void forget_last() { last_.path.clear(); }

  // Folders of steps that are over are opened again if a late record needs them.
  void end_step() {
    if (folders_.size() > kMostFolders) folders_.clear();
  }
  void close() { folders_.clear(); }
  // The step of the file that was written last, -1 = none was.
  [[nodiscard]] int64_t last_step() const { return last_step_; }
  [[nodiscard]] bool has_written() const { return !folders_.empty(); }
  [[nodiscard]] uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kMostFolders = 64;

  // Later than every time before it.
  uint64_t next_time();
  Result<std::shared_ptr<NamedFolder>> folder_of(const Op& op, const Execution& execution);
  std::string name_of(const Op& op, const Execution& execution, uint64_t time_us) const;
  Status write_file(NamedFolder& folder, const std::string& name, std::span<const FilePart> parts, std::string& stored);
  Status write_tensors(const Op& op, Execution& execution, NamedFolder& folder, std::string& stored, std::string& name);
  Status write_statistics(const Execution& execution, NamedFolder& folder, const std::string& name);
  Status write_overflow(const Op& op, const Execution& execution, uint64_t task, NamedFolder& folder);

  const Options& options_;
  const StatisticTable table_;
  DumpRoom room_;
  std::map<std::string, std::shared_ptr<NamedFolder>> folders_;
  uint64_t last_time_us_ = 0;
  int64_t last_step_ = -1;
  bool has_images_ = false;
  LastPayload last_;
  std::atomic<uint64_t> bytes_written_{0};
};

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_TREE_OP_FILES_H_
