#include "find/watch_diff.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/counted.h"
#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "query/record_lookup.h"
#include "read/print_tensor.h"
#include "tensor/dtype.h"
#include "tensor/statistics.h"

namespace tensortap {
namespace {

constexpr std::string_view kBetweenNames = "_To_";
constexpr size_t kMostOthers = 20;

// The two ops behind a pseudo-op whose records are looks: the watcher, and the op that it ran after.
struct Look {
  std::string watcher;
  OpId watched = kNoOp;
};

// Finds the pseudo-ops for looks: by their attributes or, in trees of other systems, by their names.
class Looks {
 public:
  explicit Looks(const DumpIndex& dump) : ops_(dump.ops()) {
    for (OpId id = 0; id < ops_.size(); ++id) by_name_.emplace(ops_[id].name, id);
    for (OpId id = 0; id < ops_.size(); ++id) add(id);
    for (const auto& [id, look] : looks_) watched_.insert(look.watched);
  }
  [[nodiscard]] const Look* find(OpId op) const {
    const auto found = looks_.find(op);
    return found == looks_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool is_watched(OpId op) const { return watched_.contains(op); }
  [[nodiscard]] OpId id_of(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? kNoOp : found->second;
  }

 private:
  void add(OpId id) {
    const OpInfo& op = ops_[id];
    const std::string watched = attribute_text(op, kWatchedOp);
    if (!watched.empty()) {
      looks_[id] = {attribute_text(op, kWatcherOp), id_of(watched)};
      return;
    }
    for (size_t at = op.name.find(kBetweenNames); at != std::string::npos; at = op.name.find(kBetweenNames, at + 1)) {
      const OpId other = id_of(op.name.substr(at + kBetweenNames.size()));
      if (other == kNoOp || other == id || ops_[other].type != op.type) continue;
      looks_[id] = {op.name.substr(0, at), other};
      return;
    }
  }

  std::span<const OpInfo> ops_;
  std::unordered_map<std::string, OpId> by_name_;
  std::unordered_map<OpId, Look> looks_;
  std::unordered_set<OpId> watched_;
};

enum class Verdict : uint8_t { kEqual, kProbablyEqual, kDifferent, kUnknown };

bool has_data(const RecordRow& row) { return (row.flags & kRecordHasData) != 0; }

bool same_double(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

Verdict compare_statistics(const TensorStats& a, const TensorStats& b) {
  const uint32_t both = a.valid & b.valid & kStatAll;
  if (both == 0) return Verdict::kUnknown;
  const bool different = std::ranges::any_of(kStatisticTable, [&](const Statistic& one) {
    if ((both & one.bit) == 0) return false;
    return one.is_count() ? a.*one.count != b.*one.count : !same_double(a.*one.number, b.*one.number);
  });
  return different ? Verdict::kDifferent : Verdict::kProbablyEqual;
}

Verdict compare_rows(const DumpIndex& dump, size_t before, size_t after) {
  const RecordRow& a = dump.rows()[before];
  const RecordRow& b = dump.rows()[after];
  if (a.dtype != b.dtype || a.numel != b.numel) return Verdict::kUnknown;
  if (a.digest_kind != 0 && a.digest_kind == b.digest_kind) {
    return std::memcmp(a.digest, b.digest, sizeof(a.digest)) == 0 ? Verdict::kEqual : Verdict::kDifferent;
  }
  if (has_data(a) && has_data(b)) {
    const Result<RecordData> one = dump.data(before);
    const Result<RecordData> other = dump.data(after);
    const std::optional<uint64_t> bytes = packed_bytes(static_cast<DType>(a.dtype), a.numel);
    if (one.ok() && other.ok() && bytes.has_value()) {
      return std::memcmp(one->view.data, other->view.data, *bytes) == 0 ? Verdict::kEqual : Verdict::kDifferent;
    }
  }
  return compare_statistics(a.stats, b.stats);
}

std::vector<int64_t> index_of(const RecordRow& row, uint64_t flat) {
  const Shape shape = row.desc().shape;
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
  for (int i = shape.rank(); i-- > 0;) {
    const auto dim = static_cast<uint64_t>(std::max<int64_t>(shape[i], 1));
    index[static_cast<size_t>(i)] = static_cast<int64_t>(flat % dim);
    flat /= dim;
  }
  return index;
}

std::optional<Overwrite::Change> change_between(const DumpIndex& dump, size_t before, size_t after) {
  const Result<RecordData> one = dump.data(before);
  const Result<RecordData> other = dump.data(after);
  const RecordRow& row = dump.rows()[before];
  const auto dtype = static_cast<DType>(row.dtype);
  const uint64_t bits = dtype_info(dtype).bits;
  if (!one.ok() || !other.ok() || bits == 0) return std::nullopt;
  const uint64_t bytes = packed_bytes(dtype, row.numel).value_or(0);
  const auto* a = static_cast<const std::byte*>(one->view.data);
  const auto* b = static_cast<const std::byte*>(other->view.data);
  const auto differ = [](std::byte x, std::byte y) { return x != y; };
  Overwrite::Change change;
  change.first_byte = static_cast<uint64_t>(std::mismatch(a, a + bytes, b).first - a);
  if (change.first_byte == bytes) return std::nullopt;
  change.end_byte = bytes;
  while (!differ(a[change.end_byte - 1], b[change.end_byte - 1])) --change.end_byte;
  // Of types narrower than a byte the count is one of bytes that hold several.
  const uint64_t size = std::max<uint64_t>(bits / 8, 1);
  change.first_byte = change.first_byte / size * size;
  change.end_byte = std::min((change.end_byte + size - 1) / size * size, bytes);
  for (uint64_t at = change.first_byte; at < change.end_byte; at += size) {
    if (std::memcmp(a + at, b + at, std::min(size, bytes - at)) != 0) ++change.elements;
  }
  const uint64_t first = std::min(change.first_byte * 8 / bits, row.numel - 1);
  change.index = index_of(row, first);
  change.value_before = element_text(one->view, first);
  change.value_after = element_text(other->view, first);
  return change;
}

// By the graph of the dump: whether an op after `writer` reads the output.
std::optional<bool> reader_after(const DumpIndex& dump, OpId watched, uint32_t slot, OpId writer) {
  if (writer == kNoOp) return std::nullopt;
  bool known = false;
  for (OpId id = 0; id < dump.ops().size(); ++id) {
    for (const OpInput& input : dump.ops()[id].inputs) {
      if (input.producer != watched || input.producer_slot != slot) continue;
      if (id > writer) return true;
      known = true;
    }
  }
  // No op of the graph reads it: a result of the program, or a program whose links are not known.
  return known ? std::optional(false) : std::nullopt;
}

// What the capture noted: whether an output of an op was still to be read when a look saw it.
class NotedReads {
 public:
  explicit NotedReads(const DumpIndex& dump) {
    const Json manifest = manifest_json(dump);
    const auto watch = manifest.find("watch");
    if (watch == manifest.end() || !watch->is_object()) return;
    const Json looks = watch->value("still_read", Json(nullptr));
    are_there_ = looks.is_array();
    for (const Json& look : looks) {
      if (look.is_array() && look.size() == 2 && look[0].is_string() && look[1].is_array()) add(look[0].get<std::string>(), look[1]);
    }
  }
  [[nodiscard]] bool are_there() const { return are_there_; }
  [[nodiscard]] std::optional<bool> find(const std::string& look, uint32_t slot) const {
    const auto found = slots_.find(look);
    if (found == slots_.end() || slot >= found->second.size() || !found->second[slot].is_boolean()) return std::nullopt;
    return found->second[slot].get<bool>();
  }

 private:
  // Of two models that have such an op, in one tree: where they disagree, it is not known.
  void add(const std::string& look, const Json& slots) {
    const auto [known, is_new] = slots_.emplace(look, slots);
    if (!is_new && known->second != slots) known->second = Json::array();
  }

  bool are_there_ = false;
  std::unordered_map<std::string, Json> slots_;
};

class Differ {
 public:
  Differ(const DumpIndex& dump, const RowFilter* chosen) : dump_(dump), chosen_(chosen), looks_(dump), reads_(dump) {}

  WatchReport run() {
    for (const size_t row : rows_in_time_order(dump_)) take(row);
    report_.tensors = followed_.size();
    return std::move(report_);
  }

 private:
  using Key = std::tuple<int32_t, uint64_t, int64_t, OpId, uint32_t, int64_t>;  // rank, run, step, watched op, slot, element
  struct Tensor {
    size_t row = 0;
    std::string last;  // op that had run when it was seen last
    bool overwritten = false;
  };

  void take(size_t row) {
    const RecordRow& record = dump_.rows()[row];
    if (record.slot_kind != static_cast<uint8_t>(SlotKind::kOutput) || record.op >= dump_.ops().size()) return;
    const Look* look = looks_.find(record.op);
    const OpId watched = look == nullptr ? record.op : look->watched;
    const Key key{record.rank, record.run, record.step, watched, record.slot_index, record.element};
    if (look == nullptr) {
      if (looks_.is_watched(watched)) latest_[key] = {row, dump_.ops()[watched].name, false};
      return;
    }
    if (!is_chosen(record, watched)) return;
    ++report_.looks;
    const auto known = latest_.find(key);
    if (known == latest_.end()) {
      ++report_.unknown;
      return;
    }
    followed_.insert(known->second.row);
    compare(known->second, row, *look);
  }

  // A look is an op with a separate name. A selection names the op that made the tensor.
  [[nodiscard]] bool is_chosen(const RecordRow& look, OpId watched) const {
    if (chosen_ == nullptr) return true;
    RecordRow tensor = look;
    tensor.op = watched;
    return chosen_->keeps(tensor);
  }

  void compare(Tensor& tensor, size_t row, const Look& look) {
    if (tensor.overwritten) return;
    const Verdict verdict = compare_rows(dump_, tensor.row, row);
    if (verdict == Verdict::kUnknown) ++report_.unknown;
    if (verdict == Verdict::kProbablyEqual) ++report_.estimated;
    if (verdict == Verdict::kDifferent) {
      report_.overwritten.push_back(found(tensor, row, look));
      tensor.overwritten = true;
    }
    tensor.last = look.watcher;
  }

  [[nodiscard]] Overwrite found(const Tensor& tensor, size_t row, const Look& look) const {
    const RecordRow& record = dump_.rows()[row];
    Overwrite one;
    one.before = tensor.row;
    one.after = row;
    one.watched = look.watched;
    one.writer = look.watcher;
    one.last_equal = tensor.last;
    const OpId writer = looks_.id_of(look.watcher);
    one.still_read = still_read(record, look, writer);
    if (has_data(dump_.rows()[tensor.row]) && has_data(record)) one.change = change_between(dump_, tensor.row, row);
    const OpId last = looks_.id_of(tensor.last);
    if (writer == kNoOp || last == kNoOp) return one;
    for (OpId id = last + 1; id < writer && one.others.size() < kMostOthers; ++id) {
      if (is_executed(id)) one.others.push_back(dump_.ops()[id].name);
    }
    return one;
  }

  [[nodiscard]] std::optional<bool> still_read(const RecordRow& record, const Look& look, OpId writer) const {
    if (reads_.are_there()) return reads_.find(dump_.ops()[record.op].name, record.slot_index);
    return reader_after(dump_, look.watched, record.slot_index, writer);
  }

  [[nodiscard]] bool is_executed(OpId id) const {
    const OpInfo& op = dump_.ops()[id];
    return op.type != kInputType && op.type != kInitializerType && looks_.find(id) == nullptr;
  }

  const DumpIndex& dump_;
  const RowFilter* chosen_;
  Looks looks_;
  const NotedReads reads_;
  WatchReport report_;
  std::map<Key, Tensor> latest_;
  std::unordered_set<size_t> followed_;  // rows of tensors that were looked at again
};

Json overwrite_json(const DumpIndex& dump, const Overwrite& one) {
  const RecordRow& row = dump.rows()[one.before];
  const OpInfo& op = dump.ops()[one.watched];
  Json json = {{"record", record_name(row, op.name)},
               {"op", op.name},
               {"type", op.type},
               {"slot", slot_name(static_cast<SlotKind>(row.slot_kind), row.slot_index)},
               {"step", row.step},
               {"writer", one.writer},
               {"last_equal", one.last_equal},
               {"others", one.others}};
  json["still_read"] = one.still_read.has_value() ? Json(*one.still_read) : Json(nullptr);
  const auto& change = one.change;
  json["bytes"] = change ? Json({change->first_byte, change->end_byte}) : Json(nullptr);
  json["elements"] = change ? Json(change->elements) : Json(nullptr);
  json["index"] = change ? Json(change->index) : Json(nullptr);
  json["before"] = change ? Json(change->value_before) : Json(nullptr);
  json["after"] = change ? Json(change->value_after) : Json(nullptr);
  return json;
}

}  // namespace

WatchReport watch_diff(const DumpIndex& dump, const RowFilter* chosen) { return Differ(dump, chosen).run(); }

Json watch_diff_json(const DumpIndex& dump, const WatchReport& report) {
  Json json = {{"looks", report.looks}, {"tensors", report.tensors}, {"unknown", report.unknown}, {"estimated", report.estimated}};
  json["overwritten"] = json["reused"] = json["reused_or_overwritten"] = Json::array();
  for (const Overwrite& one : report.overwritten) {
    const char* list = !one.still_read.has_value() ? "reused_or_overwritten" : *one.still_read ? "overwritten" : "reused";
    json[list].push_back(overwrite_json(dump, one));
  }
  std::vector<std::string> unknown;
  if (report.unknown > 0) unknown.push_back(concat(counted(report.unknown, "look"), " had nothing to compare with"));
  if (const size_t count = json["reused_or_overwritten"].size(); count > 0) {
    unknown.push_back(concat("the dump does not record which ops read ", counted(count, "changed tensor")));
  }
  json["not_known"] = text_or_null(join(unknown, "; "));
  return json;
}

}  // namespace tensortap
