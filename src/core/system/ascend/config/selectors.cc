#include "system/ascend/config/selectors.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "plan/capture_plan.h"

namespace tensortap::ascend {
namespace {

using Kind = OpSelector::Kind;

constexpr uint64_t kMostSlot = 65535;
constexpr size_t kMostBlacklistNotes = 20;
constexpr std::string_view kDataType = "Data";  // AscendCL's name of an input of the graph

OpSelector selector(Kind kind, std::string text, const std::string& model, std::string origin) {
  OpSelector made;
  made.kind = kind;
  made.text = std::move(text);
  made.of_model = model;
  made.optional = true;
  made.origin = std::move(origin);
  return made;
}

// An empty name picks nothing and gets no selector.
void add_names(const std::vector<Named>& names, const std::string& model, std::vector<OpSelector>& selectors) {
  for (const Named& name : names) {
    if (!name.text.empty()) selectors.push_back(selector(Kind::kName, name.text, model, name.origin));
  }
}

// "input0" or "output12".
bool read_position(std::string_view text, OpSelector& exclusion) {
  const bool input = text.starts_with("input");
  if (!input && !text.starts_with("output")) return false;
  text.remove_prefix(input ? 5 : 6);
  uint64_t slot = 0;
  if (!is_digits(text)) return false;
  // So many slots no op has.
  if (!parse_unsigned(text, slot) || slot > kMostSlot) return false;
  std::vector<uint32_t>& slots = input ? exclusion.input_slots : exclusion.output_slots;
  if (std::ranges::find(slots, slot) == slots.end()) slots.push_back(static_cast<uint32_t>(slot));
  return true;
}

class Selectors {
 public:
  explicit Selectors(CaptureSpec& spec) : spec_(spec) {}

  void add_item(const DumpItem& item) {
    const std::string model = item.model_name.value_or("");
    if (item.names_no_op()) {
      if (model.empty()) {
        every_op_ = true;
      } else {
        spec_.include.push_back(selector(Kind::kEvery, "op", model, item.origin));
      }
    }
    if (item.layers) add_names(*item.layers, model, spec_.include);
    for (const NameRange& range : item.ranges) {
      spec_.include.push_back(selector(Kind::kOrderRange, range.begin.text, model, range.begin.origin));
      spec_.include.back().text_end = range.end;
    }
    add_blacklist(item.type_blacklist, Kind::kType, model);
    add_blacklist(item.name_blacklist, Kind::kName, model);
  }

  [[nodiscard]] bool every_op() const { return every_op_; }

 private:
  void add_blacklist(const std::vector<BlacklistEntry>& entries, Kind kind, const std::string& model) {
    for (const BlacklistEntry& entry : entries) {
      OpSelector exclusion = selector(kind, entry.name.text, model, entry.name.origin);
      std::string unknown;
      for (const std::string& position : entry.positions) {
        if (!read_position(position, exclusion) && unknown.empty()) unknown = position;
      }
      const bool names_slots = !exclusion.input_slots.empty() || !exclusion.output_slots.empty();
      if (!unknown.empty())
        note(entry, concat("pos ", quote(unknown.substr(0, 80)), " is neither inputN nor outputN and has no effect, as in AscendCL"));
      if (entry.name.text.empty())
        note(entry, "without a name has no effect, as in AscendCL");
      else if (entry.positions.empty())
        note(entry, "without \"pos\" has no effect, as in AscendCL; list what to leave out, such as \"output0\"");
      if (!names_slots || entry.name.text.empty()) continue;
      if (kind == Kind::kType && entry.name.text == kDataType) exclusion.text = kInputType;
      spec_.exclude.push_back(std::move(exclusion));
    }
  }

  void note(const BlacklistEntry& entry, std::string_view what) {
    if (notes_++ < kMostBlacklistNotes)
      spec_.notes.push_back(concat(entry.name.origin, ": ", quote(entry.name.text.substr(0, 80)), " ", what));
  }

  CaptureSpec& spec_;
  bool every_op_ = false;
  size_t notes_ = 0;
};

// Of items that name the same model the last one counts.
std::vector<const DumpItem*> last_of_each_model(const Settings& settings, std::vector<std::string>& notes) {
  std::map<std::string, const DumpItem*> last;
  for (const DumpItem& item : settings.items) {
    if (item.model_name && !item.model_name->empty()) last[*item.model_name] = &item;
  }
  std::vector<const DumpItem*> items;
  std::set<std::string> said;
  for (const DumpItem& item : settings.items) {
    const auto found = item.model_name ? last.find(*item.model_name) : last.end();
    if (found == last.end() || found->second == &item) {
      items.push_back(&item);
    } else if (said.insert(found->first).second) {
      notes.push_back(
          concat(item.origin, ": the model ", quote(found->first.substr(0, 80)), " occurs twice; the last one counts, as in AscendCL"));
    }
  }
  return items;
}

void set_watch(const Settings& settings, CaptureSpec& spec) {
  bool after_every_op = false;
  for (const DumpItem& item : settings.items) {
    add_names(item.watcher_nodes, "", spec.include);
    if (item.layers) add_names(*item.layers, "", spec.watchers);
    after_every_op = after_every_op || !item.layers;
  }
  if (after_every_op) spec.watchers.clear();
  spec.single_ops = false;
  if (!spec.include.empty()) return;
  spec.steps = StepSet::never();
  spec.notes.emplace_back("\"dump_scene\": \"watcher\" without \"watcher_nodes\" watches nothing");
}

}  // namespace

void set_selectors(const Settings& settings, CaptureSpec& spec) {
  if (settings.overflow || settings.is_exception()) return;
  if (settings.scene == Scene::kWatcher) {
    set_watch(settings, spec);
    return;
  }
  spec.model_ops = !settings.items.empty();
  spec.single_ops = settings.single_ops;
  spec.keep_for_readers = true;  // an entry of a blacklist is about one tensor of an op, not about the value
  Selectors selectors(spec);
  for (const DumpItem* item : last_of_each_model(settings, spec.notes)) selectors.add_item(*item);
  if (selectors.every_op() || !spec.model_ops) {
    spec.include.clear();
  } else if (spec.single_ops) {
    spec.include.push_back(selector(Kind::kEvery, "single", "", "dump_op_switch"));
  }
  if (!spec.model_ops || selectors.every_op() || !spec.include.empty()) return;
  // Only names that are empty.
  spec.steps = StepSet::never();
  spec.notes.emplace_back("\"dump_list\" names no op, so nothing is captured");
}

}  // namespace tensortap::ascend
