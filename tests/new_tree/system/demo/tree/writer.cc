#include "system/demo/tree/tree.h"

#include <atomic>
#include <cctype>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "format/npy/npy_header.h"
#include "tree/named_folder.h"

namespace tensortap::demo {
namespace {

std::string slot_file(const SlotFile& file) {
  const std::string name = concat(file.is_input ? "in" : "out", file.slot);
  return file.times == 0 ? concat(name, ".npy") : concat(name, ".", file.times, ".npy");
}

std::string op_folder(OpId id, std::string_view name) {
  std::string folder = concat(id, "_");
  for (const char c : name.substr(0, 100)) folder += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return folder;
}

class Writer : public LayoutWriter {
 public:
  explicit Writer(std::string folder) : folder_(std::move(folder)) {}

  Status add_op(OpId id, const OpInfo& op) override {
    if (ops_.size() <= id) ops_.resize(size_t{id} + 1);
    ops_[id] = op_folder(id, op.name);
    return {};
  }

  [[nodiscard]] bool takes_statistics_on_any_thread() const override { return false; }

  Status add_record(RecordRow& row, const TensorView* data, const ExponentHistogram* /*histogram*/) override {
    if (data == nullptr) return unsupported("this layout keeps no record without its values");
    TENSORTAP_ASSIGN_OR_RETURN(const std::string content, encode_npy(*data));
    const std::string below = concat(row.step, "/", ops_[row.op]);
    const bool is_input = row.slot_kind == static_cast<uint8_t>(SlotKind::kInput);
    uint32_t& times = times_[concat(below, is_input ? "/in" : "/out", row.slot_index)];
    TENSORTAP_ASSIGN_OR_RETURN(const auto folder, NamedFolder::create(folder_, below, {}));
    const FilePart part{std::as_bytes(std::span(content)), nullptr};
    std::string stored;
    TENSORTAP_RETURN_IF_ERROR(folder->write(slot_file({is_input, row.slot_index, times}), {&part, 1}, stored));
    ++times;
    bytes_written_ += content.size();
    row.flags |= kRecordHasData;
    row.data_bytes = row.bytes;
    row.committed = 1;
    return {};
  }

  Status flush() override { return {}; }

  Status finish(std::string_view manifest) override {
    TENSORTAP_ASSIGN_OR_RETURN(const auto folder, NamedFolder::create(folder_, "", {}));
    return folder->replace(std::string(kManifest), manifest);
  }

  [[nodiscard]] uint64_t bytes_written() const override { return bytes_written_; }

 private:
  std::string folder_;
  std::vector<std::string> ops_;                     // names of their folders
  std::unordered_map<std::string, uint32_t> times_;  // how often a slot of a step was written
  std::atomic<uint64_t> bytes_written_{0};
};

}  // namespace

Result<std::unique_ptr<LayoutWriter>> create_tree(const DumpInfo& info, const CaptureSpec& /*spec*/) {
  return std::unique_ptr<LayoutWriter>(std::make_unique<Writer>(info.folder));
}

}  // namespace tensortap::demo
