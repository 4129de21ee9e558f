#include "system/msit/tree/operations.h"

#include <algorithm>
#include <compare>
#include <map>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "system/msit/tree/tree_names.h"

namespace tensortap::msit {
namespace {

constexpr uint64_t kLargestParameters = uint64_t{1} << 20;

// An operation of one process.
struct Key {
  std::string_view dump;
  std::string_view process;
  std::vector<uint32_t> ids;
  std::string_view path;  // "1_Decoder_layer/0_LinearOperation"
  auto operator<=>(const Key&) const = default;
};

std::vector<uint32_t> ids_of(std::string_view path) {
  std::vector<uint32_t> ids;
  for (const std::string_view name : split(path, '/')) {
    const auto operation = parse_operation_name(name);
    ids.push_back(operation ? operation->number : 0);
  }
  return ids;
}

ModelPhase phase_of(std::string_view type) {
  if (type.starts_with("Prefill_")) return ModelPhase::kPrefill;
  if (type.starts_with("Decoder_")) return ModelPhase::kDecode;
  return type.starts_with("Train_") ? ModelPhase::kTrain : ModelPhase::kNone;
}

class OperationReader {
 public:
  OperationReader(const Tree& tree, std::span<const StatisticLine> lines, TreeProblems& problems)
      : tree_(tree), lines_(lines), problems_(problems) {}

  Operations read() {
    for (const TreeFolder& folder : tree_.folders) note(folder, folder.graph, parent_path(folder.path));
    for (const StatisticLine& line : lines_) {
      const TreeFolder& round = tree_.folders[line.folder];
      note(round, line.operation, join_path(round.path, line.operation));
    }
    for (auto& [key, place] : places_) {
      place.op = static_cast<OpId>(result_.ops.size());
      result_.ops.push_back(op_of(key, place));
      result_.ids.push_back(key.ids);
      result_.paths.emplace_back(key.path);
    }
    for (const TreeFolder& folder : tree_.folders) {
      const auto found = places_.find(key_of(folder, folder.graph));
      result_.of_folders.push_back(found == places_.end() ? kNoOp : found->second.op);
    }
    for (const StatisticLine& line : lines_) {
      result_.of_lines.push_back(places_.at(key_of(tree_.folders[line.folder], line.operation)).op);
    }
    return std::move(result_);
  }

 private:
  struct Place {
    std::string folder;  // where op_param.json may be
    OpId op = kNoOp;
  };

  static Key key_of(const TreeFolder& folder, std::string_view path) { return {folder.dump, folder.model, ids_of(path), path}; }

  // The operation at `path`, whose folder is `place`, and those above it.
  void note(const TreeFolder& folder, std::string_view path, std::string place) {
    while (!path.empty() && places_.try_emplace(key_of(folder, path), Place{place}).second) {
      const size_t end = path.rfind('/');
      path = end == std::string_view::npos ? std::string_view() : path.substr(0, end);
      place = parent_path(place);
    }
  }

  OpInfo op_of(const Key& key, const Place& place) {
    const size_t slash = key.path.rfind('/');
    const auto name = parse_operation_name(slash == std::string_view::npos ? key.path : key.path.substr(slash + 1));
    OpInfo op;
    op.type = name ? std::string(name->type) : "";
    for (const uint32_t id : key.ids) op.id += concat(op.id.empty() ? "" : "_", id);
    op.name = concat(op.type, "_", op.id);
    op.graph = several_dumps() ? join_path(key.dump, key.process) : std::string(key.process);
    op.level = level_of_type(op.type);
    op.model_phase = phase_of(op.type);
    if (slash != std::string_view::npos) {
      const std::string_view above = key.path.substr(0, slash);
      const auto parent = places_.find({key.dump, key.process, ids_of(above), above});
      if (parent != places_.end()) op.parent = parent->second.op;
      if (op.parent < result_.ops.size()) op.model_phase = result_.ops[op.parent].model_phase;
    }
    op.attributes = parameters_in(place.folder);
    return op;
  }

  bool several_dumps() const { return places_.begin()->first.dump != places_.rbegin()->first.dump; }

  // The text exactly as the file has it, so that it can be written again.
  std::string parameters_in(const std::string& folder) {
    const std::string path = join_path(folder, kParametersFile);
    auto text = read_file(path, kLargestParameters);
    if (!text.ok() && text.status().code() == StatusCode::kNotFound) return "";
    if (text.ok() && text->ends_with('\n')) text->pop_back();
    const auto json = text.ok() ? parse_json(*text, path) : Result<Json>(text.status());
    if (json.ok() && json->is_object()) return *std::move(text);
    problems_.add(Skipped::kDoubt, json.ok() ? concat(path, ": no JSON object; it is left out") : json.status().message());
    return "";
  }

  const Tree& tree_;
  const std::span<const StatisticLine> lines_;
  TreeProblems& problems_;
  std::map<Key, Place> places_;
  Operations result_;
};

}  // namespace

Operations read_operations(const Tree& tree, std::span<const StatisticLine> lines, TreeProblems& problems) {
  return OperationReader(tree, lines, problems).read();
}

}  // namespace tensortap::msit
