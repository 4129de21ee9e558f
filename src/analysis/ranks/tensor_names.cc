#include "ranks/tensor_names.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/json.h"
#include "base/json_members.h"

namespace tensortap {
namespace {

class NamesOfDump {
 public:
  explicit NamesOfDump(const OpenRankDump& open) : open_(open) {
    for (const RecordRow& row : open.dump.rows()) {
      const std::string* name = own_name(row);
      if (row.storage != 0 && name != nullptr) names_.try_emplace(row.storage, name);
    }
  }

  // Empty where none is known.
  [[nodiscard]] std::string name_of(const Json& record) const {
    const RecordRow* found = nullptr;
    std::set<std::string> read;
    for (const RecordRow& row : open_.dump.rows()) {
      const uint32_t job_op = open_.job_op_of(row);
      if (job_op != record.at("job_op") || row.step != record.at("step") || row.call != record.at("call")) continue;
      const bool is_it = record_name(row, op_of(open_.dump, row).name) == text_in(record, "record");
      if (is_it) found = &row;
      if (const std::string* name = known_name(row); name != nullptr && (is_it || is_input(row))) {
        if (is_it) return *name;
        read.insert(*name);
      }
    }
    return found != nullptr && !is_input(*found) && read.size() == 1 ? *read.begin() : std::string();
  }

 private:
  [[nodiscard]] const std::string* own_name(const RecordRow& row) const {
    if ((row.value_flags & kValueOwnName) == 0 || !is_input(row)) return nullptr;
    const std::vector<OpInput>& inputs = op_of(open_.dump, row).inputs;
    return row.slot_index < inputs.size() && !inputs[row.slot_index].name.empty() ? &inputs[row.slot_index].name : nullptr;
  }
  [[nodiscard]] const std::string* known_name(const RecordRow& row) const {
    if (const std::string* name = own_name(row)) return name;
    const auto found = names_.find(row.storage);
    return found == names_.end() ? nullptr : found->second;
  }

  const OpenRankDump& open_;
  std::unordered_map<uint64_t, const std::string*> names_;  // by block of memory
};

}  // namespace

void add_parameters(RankJob& job, const std::vector<Json*>& records) {
  for (Json* record : records) (*record)["parameter"] = nullptr;
  for (size_t dump = 0; dump < job.dumps(); ++dump) {
    const auto lacks = [](const Json* record) { return record->at("parameter").is_null(); };
    if (std::ranges::none_of(records, lacks)) return;
    job.visit_one(dump, [&](const OpenRankDump& open, size_t) {
      const NamesOfDump names(open);
      for (Json* record : records) {
        if (lacks(record)) (*record)["parameter"] = text_or_null(names.name_of(*record));
      }
    });
  }
}

}  // namespace tensortap
