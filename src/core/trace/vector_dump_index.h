// VectorDumpIndex: a dump made in memory, for tests of whatever reads dumps.

#ifndef TENSORTAP_TRACE_VECTOR_DUMP_INDEX_H_
#define TENSORTAP_TRACE_VECTOR_DUMP_INDEX_H_

#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

// Filled by its maker, then read as any dump. Thread-safe once it is no longer changed.
class VectorDumpIndex : public DumpIndex {
 public:
  OpId add_op(OpInfo op) {
    all_ops.push_back(std::move(op));
    return static_cast<OpId>(all_ops.size() - 1);
  }
  // Adds a record; its sequence number is its row.
  size_t add(RecordRow row) {
    row.sequence = all_rows.size();
    row.committed = 1;
    all_rows.push_back(row);
    return all_rows.size() - 1;
  }
  // Gives the record its data: packed elements of its dtype.
  template <class T>
  void set_data(size_t row, const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    all_data[row] = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    all_rows[row].flags |= kRecordHasData;
  }

  [[nodiscard]] std::string_view layout() const override { return "tap"; }
  [[nodiscard]] std::span<const RecordRow> rows() const override { return all_rows; }
  [[nodiscard]] std::span<const OpInfo> ops() const override { return all_ops; }
  [[nodiscard]] Result<RecordData> data(size_t row) const override {
    const auto found = all_data.find(row);
    if (found == all_data.end()) return not_found("the record has no data");
    return RecordData{{all_rows[row].desc(), found->second->data(), nullptr}, found->second};
  }
  [[nodiscard]] std::string file(size_t row) const override { return all_data.contains(row) ? "tensors.npz" : ""; }
  [[nodiscard]] std::string manifest() const override { return "{}"; }
  [[nodiscard]] std::span<const std::string> problems() const override { return all_problems; }
  [[nodiscard]] std::vector<uint64_t> histogram(size_t row) const override {
    const auto found = all_histograms.find(row);
    return found == all_histograms.end() ? std::vector<uint64_t>() : found->second;
  }

  [[nodiscard]] Result<TensorSketch> sketch(size_t row) const override {
    const auto found = all_sketches.find(row);
    if (found == all_sketches.end()) return not_found("the record has no sketch");
    return found->second;
  }

  std::vector<OpInfo> all_ops;
  std::vector<RecordRow> all_rows;
  std::map<size_t, std::shared_ptr<const std::vector<std::byte>>> all_data;
  std::map<size_t, std::vector<uint64_t>> all_histograms;
  std::map<size_t, TensorSketch> all_sketches;
  std::vector<std::string> all_problems;
};

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_VECTOR_DUMP_INDEX_H_
