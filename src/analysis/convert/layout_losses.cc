#include "convert/layout_losses.h"

#include <map>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "convert/copied_documents.h"
#include "plan/spec_keys.h"
#include "registry/registry.h"
#include "tensor/statistics.h"
#include "trace/step_documents.h"

namespace tensortap {
namespace {

constexpr size_t kMostWords = 4;

// "min, max, mean and l2"; a long list is cut.
std::string listed(const std::vector<std::string>& words, size_t most = SIZE_MAX) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i == most) return concat(text, " and ", words.size() - i, " more");
    text += concat(i == 0 ? "" : i + 1 == words.size() ? " and " : ", ", words[i]);
  }
  return text;
}

std::vector<std::string> statistic_words(uint32_t bits) {
  std::vector<std::string> words;
  for (const Statistic& statistic : kStatisticTable) {
    if ((bits & statistic.bit) != 0) words.emplace_back(statistic.name);
  }
  return words;
}

bool holds_dtype(const Keeps& keeps, DType dtype) { return keeps.dtype == nullptr ? dtype != DType::kString : keeps.dtype(dtype); }

// What a layout keeps or does not.
struct Property {
  bool (*kept)(const Layout& layout);
  std::string_view kind;
  std::string_view what;
};
// Edges are where ops are kept as they are, and in graph files. Trees have files of tensors, not of lists. Where every call is a separate
// operation the tree has them in the order of their numbers.
constexpr Property kProperties[] = {
    {[](const Layout& layout) { return layout.keeps.names; }, "names", "names of ops: the tree has its own"},
    {[](const Layout& layout) { return layout.keeps.names || (layout.extras & extra_files({ExtraFile::kGraphs})) != 0; }, "edges",
     "which op made what an op reads"},
    {[](const Layout& layout) { return !layout.tells_calls_apart; }, "order", "the order in which ops ran"},
    {[](const Layout& layout) { return layout.keeps.threads; }, "calls", "threads, and how often an op had run"},
    {[](const Layout& layout) { return layout.keeps.histogram; }, "histograms", "histograms"},
    {[](const Layout& layout) { return layout.keeps.sketches; }, "sketches", "sketches by channel and block"},
    {[](const Layout& layout) { return layout.keeps_arguments; }, "arguments", "arguments of calls that are no tensors"},
    {[](const Layout& layout) { return layout.keeps_arguments; }, "requests", "requests of serving engines"},
    {[](const Layout& layout) { return layout.keeps.names; }, "lists", "elements of sequences: they are separate tensors"},
    {[](const Layout& layout) { return layout.keeps.scalars; }, "scalars", "tensors without dimensions: they are vectors of one element"},
    {[](const Layout& layout) { return layout.keeps.empty_tensors; }, "empty", "tensors without elements: they have no file"},
};

Loss statistics_loss(uint32_t missing, const Keeps& to) {
  Loss loss{"statistics", missing == 0 ? "" : concat("the statistics ", listed(statistic_words(missing), kMostWords)), 0, true};
  if (to.digits > 0) loss.what += concat(missing == 0 ? "" : ", and ", "all but ", to.digits, " digits of the others");
  return loss;
}

struct Found {
  uint32_t statistics = 0;
  std::map<DType, uint64_t> dtypes;  // of records with data
  std::map<std::string_view, uint64_t> kinds;
};

Found look_at(const DumpIndex& dump) {
  Found found;
  bool edges = false;
  for (const OpInfo& op : dump.ops()) {
    for (const OpInput& input : op.inputs) edges = edges || input.producer != kNoOp;
  }
  found.kinds["names"] = dump.ops().size();
  found.kinds["edges"] = edges ? dump.ops().size() : 0;
  found.kinds["order"] = dump.rows().size();
  found.kinds["arguments"] = lines_of_document(dump, kCallsDocument);
  found.kinds["requests"] = lines_of_document(dump, kRequestsDocument);
  for (size_t i = 0; i < dump.rows().size(); ++i) {
    const RecordRow& row = dump.rows()[i];
    found.statistics |= row.stats.valid;
    if ((row.flags & kRecordHasData) != 0) ++found.dtypes[static_cast<DType>(row.dtype)];
    found.kinds["calls"] += row.thread > 0 || row.call > 0 ? 1 : 0;
    found.kinds["lists"] += row.element >= 0 ? 1 : 0;
    found.kinds["scalars"] += row.dims_count == 0 ? 1 : 0;
    found.kinds["empty"] += row.numel == 0 ? 1 : 0;
    found.kinds["histograms"] += row.histogram != 0 ? 1 : 0;
    found.kinds["sketches"] += has_sketch(static_cast<SketchState>(row.sketch)) ? 1 : 0;
  }
  return found;
}

}  // namespace

std::vector<Loss> losses_between(const Layout& from, const Layout& to) {
  std::vector<Loss> losses;
  if (from.name == to.name) return losses;
  const uint32_t missing = from.keeps.stats & ~to.keeps.stats;
  const bool fewer_digits = to.keeps.digits > 0 && (from.keeps.digits == 0 || from.keeps.digits > to.keeps.digits);
  if (missing != 0 || fewer_digits) {
    Keeps keeps = to.keeps;
    if (!fewer_digits) keeps.digits = 0;
    losses.push_back(statistics_loss(missing, keeps));
  }
  std::vector<std::string> dtypes;
  for (int number = 1; number < kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (holds_dtype(from.keeps, dtype) && !holds_dtype(to.keeps, dtype)) dtypes.emplace_back(dtype_name(dtype));
  }
  if (!dtypes.empty()) losses.push_back({"types", concat("the types ", listed(dtypes)), 0, false});
  for (const Property& property : kProperties) {
    if (property.kept(from) && !property.kept(to)) losses.push_back({std::string(property.kind), std::string(property.what), 0, true});
  }
  return losses;
}

std::vector<Loss> losses_of(const DumpIndex& dump, const Layout& to) {
  std::vector<Loss> losses;
  if (dump.layout() == to.name) return losses;
  const Found found = look_at(dump);
  const uint32_t missing = found.statistics & kStatAll & ~to.keeps.stats;
  if (missing != 0 || (to.keeps.digits > 0 && (found.statistics & kStatAll) != 0)) losses.push_back(statistics_loss(missing, to.keeps));
  for (const auto& [dtype, records] : found.dtypes) {
    if (!holds_dtype(to.keeps, dtype)) losses.push_back({"types", std::string(dtype_name(dtype)), records, false});
  }
  for (const Property& property : kProperties) {
    const auto seen = found.kinds.find(property.kind);
    if (property.kept(to) || seen == found.kinds.end() || seen->second == 0) continue;
    losses.push_back({std::string(property.kind), std::string(property.what), seen->second, true});
  }
  return losses;
}

std::vector<std::string> loss_notes(const std::vector<Loss>& losses, const Layout& to) {
  std::vector<std::string> notes;
  std::string beside;
  for (const Loss& loss : losses) {
    if (loss.kept_beside) {
      beside += concat(beside.empty() ? "" : "; ", loss.what);
    } else {
      notes.push_back(concat(loss.records, loss.records == 1 ? " tensor of " : " tensors of ", loss.what, ": the layout ", to.name,
                             " has no such type; they are stored wider, or not at all"));
    }
  }
  if (beside.empty()) return notes;
  notes.push_back(concat("a tree of the layout ", to.name, " cannot store: ", beside, ". tensortap keeps it in .tensortap/origin"));
  return notes;
}

std::string loss_table() {
  std::string table = "| from | to | what the tree cannot store |\n|---|---|---|\n";
  for (const Layout& from : layouts()) {
    for (const Layout& to : layouts()) {
      if (from.name == to.name || to.create == nullptr) continue;
      std::string text;
      for (const Loss& loss : losses_between(from, to)) text += concat(text.empty() ? "" : "; ", loss.what);
      table += concat("| ", from.name, " | ", to.name, " | ", text.empty() ? "nothing" : text, " |\n");
    }
  }
  return table;
}

}  // namespace tensortap
