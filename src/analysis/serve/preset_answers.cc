#include "serve/preset_answers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/json.h"
#include "query/row_columns.h"
#include "serve/series_answers.h"

namespace tensortap {
namespace {

// The op of PyTorch that puts a gradient into its parameter.
constexpr std::string_view kAccumulate = "AccumulateGrad";

bool is_gradient(const RecordRow& row, const OpInfo& op) {
  if (row.slot_kind == static_cast<uint8_t>(SlotKind::kGradient)) return true;
  return is_output(row) && op.name.starts_with(kAccumulate);
}

// The module of each gradient: that of its op, or of the op that wrote the block of memory last before.
class GradientModules {
 public:
  explicit GradientModules(const ServedDump& dump) : dump_(dump) {}

  std::string_view look(const RecordRow& row) {
    const OpInfo& op = op_of(dump_.index(), row);
    if (is_gradient(row, op)) return op.module.empty() ? module_of(row.storage) : std::string_view(op.module);
    if (is_output(row) && row.storage != 0 && !op.module.empty()) modules_[row.storage] = op.module;
    return {};
  }

 private:
  [[nodiscard]] std::string_view module_of(uint64_t storage) const {
    const auto found = modules_.find(storage);
    return found == modules_.end() ? std::string_view("(no module)") : found->second;
  }

  const ServedDump& dump_;
  std::unordered_map<uint64_t, std::string_view> modules_;
};

struct Norm {
  // Of each gradient, by its block of memory: one that is added to has several records, the last of which holds the sum.
  std::unordered_map<uint64_t, double> squares;
  uint32_t row = 0;
  OpId op = kNoOp;

  [[nodiscard]] double value() const {
    double sum = 0;
    for (const auto& [block, square] : squares) sum += square;
    return std::sqrt(sum);
  }
};
// By module and rank, then by step.
using Norms = std::map<std::pair<std::string_view, int32_t>, std::map<int64_t, Norm>>;

Norms gradient_norms(const ServedDump& dump) {
  Norms norms;
  GradientModules modules(dump);
  const auto rows = dump.rows();
  for (uint32_t i = 0; i < rows.size(); ++i) {
    const std::string_view module = modules.look(rows[i]);
    if (module.empty() || (rows[i].stats.valid & kStatL2) == 0) continue;
    const uint64_t nonfinite = rows[i].stats.nan + rows[i].stats.pos_inf + rows[i].stats.neg_inf;
    Norm& norm = norms[{module, rows[i].rank}][rows[i].step];
    const uint64_t block = rows[i].storage != 0 ? rows[i].storage : ~uint64_t{i};
    norm.squares[block] = nonfinite > 0 ? NAN : rows[i].stats.l2 * rows[i].stats.l2;
    norm.row = i;
    norm.op = rows[i].op;
  }
  return norms;
}

Json gradients_json(const ServedDump& dump) {
  Json list = Json::array();
  for (const auto& [key, steps] : gradient_norms(dump)) {
    Json json = {{"op_id", steps.begin()->second.op},
                 {"op", key.first},
                 {"slot", "gradients"},
                 {"element", nullptr},
                 {"phase", "backward"},
                 {"rank", key.second},
                 {"keys", {{"l2", Json::array()}}},
                 {"steps", Json::array()},
                 {"records", Json::array()},
                 {"calls", Json::array()},
                 {"trends", Json::array()}};
    for (const auto& [step, norm] : steps) {
      json["keys"]["l2"].push_back(json_number(norm.value()));
      json["steps"].push_back(step);
      json["records"].push_back(norm.row);
      json["calls"].push_back(0);
    }
    list.push_back(std::move(json));
  }
  return list;
}

// The first output that held each content of memory.
using Makers = std::unordered_map<RecordLookup::Content, uint32_t, RecordLookup::Hash>;

Makers makers_of(const ServedDump& dump) {
  Makers makers;
  const auto rows = dump.rows();
  for (uint32_t i = 0; i < rows.size(); ++i) {
    if (rows[i].storage != 0 && is_output(rows[i])) makers.try_emplace({rows[i].storage, rows[i].version}, i);
  }
  return makers;
}

}  // namespace

std::vector<uint32_t> loss_rows(const ServedDump& dump) {
  std::vector<uint32_t> found;
  const auto rows = dump.rows();
  Makers makers;
  for (OpId id = 0; id < dump.index().ops().size(); ++id) {
    if (!attribute_is_set(dump.index().ops()[id], kSeesLoss)) continue;
    if (makers.empty()) makers = makers_of(dump);
    for (const uint32_t row : dump.rows_of(id)) {
      if (!is_input(rows[row]) || rows[row].numel != 1) continue;
      const auto made = makers.find({rows[row].storage, rows[row].version});
      if (made != makers.end() && made->second < row) found.push_back(made->second);
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Result<Answer> preset_answer(const AskedDump& asked) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"dump", "name"}));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string name, asked.request.choice("name", {"loss", "gradients"}));
  Json json = {{"series", Json::array()}, {"gaps", gaps_json(asked.dump)}};
  if (name == "gradients") json["series"] = gradients_json(asked.dump);
  if (name == "loss") json["series"] = series_list_json(asked.dump, loss_rows(asked.dump), {find_column("mean")});
  return json_answer(json);
}

}  // namespace tensortap
