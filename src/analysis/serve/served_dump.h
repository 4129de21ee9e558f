// ServedDump: one open dump with what the answers look up in it again and again.

#ifndef TENSORTAP_SERVE_SERVED_DUMP_H_
#define TENSORTAP_SERVE_SERVED_DUMP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "find/nonfinite_origins.h"
#include "find/trends.h"
#include "graph/graph_model.h"
#include "query/op_facts.h"
#include "query/record_lookup.h"
#include "serve/name_search.h"
#include "serve/recent_data.h"
#include "serve/source_files.h"
#include "trace/dump_index.h"

namespace tensortap {

// A value that the first who asks makes, while others wait. Thread-safe.
template <class T>
class MadeOnce {
 public:
  template <class Make>
  const T& get(const Make& make) const {
    std::call_once(once_, [&] {
      value_.emplace(make());
      is_made_ = true;
    });
    return *value_;
  }
  [[nodiscard]] bool is_made() const { return is_made_; }

 private:
  mutable std::once_flag once_;
  mutable std::optional<T> value_;
  mutable std::atomic<bool> is_made_ = false;
};

// Thread-safe. Its contents are those of the files when they were opened.
class ServedDump {
 public:
  // As read/open_dump.h opens it. `is_live`: it is still being written.
  static Result<std::shared_ptr<const ServedDump>> open(const std::string& path, bool is_live = false, const SourceFiles& sources = {});
  // Serves a dump that was opened as `path`.
  static std::shared_ptr<const ServedDump> opened(const std::string& path, std::unique_ptr<DumpIndex> index, bool is_live = false,
                                                  const SourceFiles& sources = {});
  // Serves an open dump, for tests. `name` replaces the path.
  static std::shared_ptr<const ServedDump> of(std::string name, std::unique_ptr<DumpIndex> index);
  ServedDump(const ServedDump&) = delete;
  ServedDump& operator=(const ServedDump&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const DumpIndex& index() const { return *index_; }
  [[nodiscard]] std::span<const RecordRow> rows() const { return index_->rows(); }
  [[nodiscard]] const Json& manifest() const { return manifest_; }  // an object

  // As DumpIndex::data(), without reading the most recent tensors again.
  [[nodiscard]] Result<RecordData> data(size_t row) const;

  // Rows of an op, in the order of the dump.
  [[nodiscard]] std::span<const uint32_t> rows_of(OpId op) const;
  // The result of one pass over all rows.
  struct RowCounts {
    std::set<int32_t> ranks;
    std::set<uint8_t> phases;
    std::vector<int64_t> steps;  // every number once, rising; rows of the phase kLoad belong to no step
    uint64_t data_bytes = 0;
    bool has_data = false;
  };
  [[nodiscard]] const RowCounts& counts() const;
  [[nodiscard]] const RecordLookup& lookup() const;
  [[nodiscard]] const OpFactsTable& facts() const;
  // What `find` says, with its own limit.
  [[nodiscard]] const Json& find_report() const;
  [[nodiscard]] const TrendReport& trends() const;
  // Whether both are ready, so that no caller waits for them.
  [[nodiscard]] bool is_looked_through() const { return find_.is_made() && trends_.is_made(); }
  // Where NaN and Inf of the dump began, and what came of them.
  [[nodiscard]] const NonFiniteFindings& nonfinite() const;
  [[nodiscard]] const GraphModel& graph() const;
  [[nodiscard]] const NameSearch& names() const;
  [[nodiscard]] std::optional<OpId> op_named(std::string_view name) const;

  // The lines of the program around an op, as SourceFiles::lines_json() has them; null where there are none.
  [[nodiscard]] Json source_lines(const OpInfo& op) const;
  [[nodiscard]] bool is_live() const { return is_live_; }
  // Whether a file of the dump changed, or went away, since it was opened.
  [[nodiscard]] bool changed() const;

 private:
  // The state of a file when it was opened: its name in the folder, and the facts of stat(2).
  struct FileState {
    std::string name;
    uint64_t device = 0;
    uint64_t inode = 0;
    uint64_t size = 0;
    int64_t changed_ns = 0;
    friend bool operator==(const FileState&, const FileState&) = default;
  };
  struct RowsByOp {
    std::vector<uint32_t> begins;  // by op, and the end
    std::vector<uint32_t> rows;
  };

  ServedDump(std::string path, std::string folder, std::unique_ptr<DumpIndex> index);
  [[nodiscard]] std::vector<FileState> look() const;
  // When a file of the dump was last written to, as time of day; files that are newer are not what ran. Without files 0.
  [[nodiscard]] int64_t written_before_ns() const;
  [[nodiscard]] RowsByOp sort_rows() const;
  [[nodiscard]] RowCounts count_rows() const;

  std::string path_;
  std::string folder_;  // "" = there are no files
  bool is_live_ = false;
  SourceFiles sources_;
  std::unique_ptr<DumpIndex> index_;
  Json manifest_;
  std::vector<FileState> files_;
  MadeOnce<RowsByOp> by_op_;
  MadeOnce<RowCounts> counts_;
  MadeOnce<OpFactsTable> facts_;
  MadeOnce<RecordLookup> lookup_;
  MadeOnce<Json> find_;
  MadeOnce<TrendReport> trends_;
  MadeOnce<NonFiniteFindings> nonfinite_;
  MadeOnce<std::unique_ptr<const GraphModel>> graph_;
  MadeOnce<std::unique_ptr<const NameSearch>> names_;
  MadeOnce<std::unordered_map<std::string_view, OpId>> op_ids_;
  mutable RecentData recent_;
};

// The op with this number, given as text. Errors: kInvalidArgument; kNotFound for an unknown op.
Result<OpId> parse_op(const ServedDump& dump, const std::string& text);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_SERVED_DUMP_H_
