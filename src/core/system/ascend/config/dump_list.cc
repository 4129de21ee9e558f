#include "system/ascend/config/dump_list.h"

#include <array>

#include "base/text.h"
#include "system/ascend/config/errors.h"
#include "system/ascend/config/members.h"

namespace tensortap::ascend {
namespace {

constexpr std::string_view kModelName = "model_name";
constexpr std::string_view kLayer = "layer";
constexpr std::string_view kWatcherNodes = "watcher_nodes";
constexpr std::string_view kTypeBlacklist = "optype_blacklist";
constexpr std::string_view kNameBlacklist = "opname_blacklist";
constexpr std::string_view kRange = "opname_range";
constexpr std::array kItemKeys = {kModelName, kLayer, kWatcherNodes, kTypeBlacklist, kNameBlacklist, kRange};
constexpr size_t kMostEntries = 100;  // of a blacklist
constexpr size_t kMostPlaces = 200;   // finding a position reads the text from its beginning

Status check_text(Value value) { return value.json().is_string() ? Status() : wrong_type(value, "a text"); }

Status check_member_text(Value object, std::string_view key) { return has(object, key) ? check_text(member(object, key)) : Status(); }

Status check_texts(Value value) {
  if (!value.json().is_array()) return wrong_type(value, "a list of texts");
  for (size_t i = 0; i < value.json().size(); ++i) {
    if (!value.json()[i].is_string()) return check_text(value.element(i));
  }
  return {};
}

// A list of objects, each of which `check` looks at.
template <class Check>
Status check_objects(Value list, std::string_view expected, const Check& check) {
  if (!list.json().is_array()) return wrong_type(list, concat("a list of ", expected));
  for (size_t i = 0; i < list.json().size(); ++i) {
    const SpecValue element = list.element(i);
    if (!element.json().is_object()) return wrong_type(element, "an object");
    TENSORTAP_RETURN_IF_ERROR(check(element));
  }
  return {};
}

Status check_blacklist(Value list) {
  return check_objects(list, "objects such as {\"name\": \"Conv\", \"pos\": [\"input0\"]}", [](Value entry) {
    TENSORTAP_RETURN_IF_ERROR(check_member_text(entry, "name"));
    return has(entry, "pos") ? check_texts(member(entry, "pos")) : Status();
  });
}

Status check_ranges(Value list) {
  return check_objects(list, "objects such as {\"begin\": \"conv1\", \"end\": \"relu1\"}", [](Value range) {
    TENSORTAP_RETURN_IF_ERROR(check_member_text(range, "begin"));
    return check_member_text(range, "end");
  });
}

Status check_item(Value item) {
  TENSORTAP_RETURN_IF_ERROR(check_member_text(item, kModelName));
  for (const std::string_view key : {kLayer, kWatcherNodes}) {
    if (has(item, key)) TENSORTAP_RETURN_IF_ERROR(check_texts(member(item, key)));
  }
  for (const std::string_view key : {kTypeBlacklist, kNameBlacklist}) {
    if (has(item, key)) TENSORTAP_RETURN_IF_ERROR(check_blacklist(member(item, key)));
  }
  return has(item, kRange) ? check_ranges(member(item, kRange)) : Status();
}

// Reads items; says the places of the first texts only.
class ItemReader {
 public:
  DumpItem read(Value value) {
    DumpItem item;
    item.origin = place(value);
    if (has(value, kModelName)) item.model_name = member(value, kModelName).json().get<std::string>();
    if (has(value, kLayer)) item.layers = names(member(value, kLayer));
    if (has(value, kWatcherNodes)) item.watcher_nodes = names(member(value, kWatcherNodes));
    if (has(value, kTypeBlacklist)) item.type_blacklist = blacklist(member(value, kTypeBlacklist));
    if (has(value, kNameBlacklist)) item.name_blacklist = blacklist(member(value, kNameBlacklist));
    if (has(value, kRange)) item.ranges = ranges(member(value, kRange));
    return item;
  }

 private:
  std::string place(Value value) { return places_++ < kMostPlaces ? value.position() : value.path(); }

  std::vector<Named> names(Value list) {
    std::vector<Named> read;
    for (size_t i = 0; i < list.json().size(); ++i) read.push_back({list.json()[i].get<std::string>(), place(list.element(i))});
    return read;
  }

  static std::string text(Value object, const std::string& key) {
    return object.json().contains(key) ? object.json().at(key).get<std::string>() : std::string();
  }

  std::vector<BlacklistEntry> blacklist(Value list) {
    std::vector<BlacklistEntry> entries;
    for (size_t i = 0; i < list.json().size() && i <= kMostEntries; ++i) {
      const SpecValue element = list.element(i);
      BlacklistEntry entry{{text(element, "name"), place(element)}, {}};
      if (has(element, "pos")) entry.positions = element.json().at("pos").get<std::vector<std::string>>();
      entries.push_back(std::move(entry));
    }
    return entries;
  }

  std::vector<NameRange> ranges(Value list) {
    std::vector<NameRange> read;
    for (size_t i = 0; i < list.json().size(); ++i) {
      const SpecValue element = list.element(i);
      read.push_back({{text(element, "begin"), place(element)}, text(element, "end")});
    }
    return read;
  }

  size_t places_ = 0;
};

// The checks of one item, in AscendCL's order.
class ItemChecker {
 public:
  ItemChecker(Value value, const DumpItem& item, const ItemRules& rules) : value_(value), item_(item), rules_(rules) {}

  Status check() const {
    TENSORTAP_RETURN_IF_ERROR(check_names());
    TENSORTAP_RETURN_IF_ERROR(check_watcher());
    TENSORTAP_RETURN_IF_ERROR(check_blacklists());
    return check_ranges();
  }

 private:
  Status check_names() const {
    if (rules_.single) return {};
    if (item_.model_name && item_.model_name->empty()) {
      return fault(member(value_, kModelName), Fault::kItem, "is empty; name a model, or leave the key out for any model");
    }
    if (item_.layers && item_.layers->empty()) {
      return fault(member(value_, kLayer), Fault::kItem, "is empty; name ops, or leave the key out for every op");
    }
    return {};
  }

  Status check_watcher() const {
    if (!rules_.watcher) {
      if (item_.watcher_nodes.empty()) return {};
      return fault(member(value_, kWatcherNodes), Fault::kConflict,
                   R"(belongs to "dump_scene": "watcher"; add that, or leave the key out)");
    }
    if (item_.watcher_nodes.empty()) {
      constexpr std::string_view kWhat = "is missing or empty; with \"dump_scene\": \"watcher\" list the ops whose outputs are watched";
      if (has(value_, kWatcherNodes)) return fault(member(value_, kWatcherNodes), Fault::kItem, kWhat);
      return fault_without(value_, kWatcherNodes, Fault::kItem, kWhat);
    }
    if (!item_.model_name) return {};
    return fault(member(value_, kModelName), Fault::kConflict,
                 R"(contradicts "dump_scene": "watcher", which watches any model; leave it out)");
  }

  Status check_blacklists() const {
    for (const std::string_view key : {kTypeBlacklist, kNameBlacklist}) {
      const bool types = key == kTypeBlacklist;
      const std::vector<BlacklistEntry>& entries = types ? item_.type_blacklist : item_.name_blacklist;
      if (entries.size() <= kMostEntries) continue;
      return fault(member(value_, key), Fault::kValue,
                   concat("has ", member(value_, key).json().size(), " entries; the most are ", kMostEntries));
    }
    for (const std::string_view key : {kTypeBlacklist, kNameBlacklist}) {
      const bool used = key == kTypeBlacklist ? !item_.type_blacklist.empty() : !item_.name_blacklist.empty();
      if (used) TENSORTAP_RETURN_IF_ERROR(check_level(key));
    }
    return {};
  }

  [[nodiscard]] Status check_level(std::string_view key) const {
    if (rules_.op_level) return {};
    return fault(member(value_, key), Fault::kConflict, R"(needs "dump_level": "op", which is not the default; add it)");
  }

  Status check_ranges() const {
    if (item_.ranges.empty()) return {};
    TENSORTAP_RETURN_IF_ERROR(check_level(kRange));
    if (!item_.model_name || item_.model_name->empty()) {
      return fault_without(value_, kModelName, Fault::kItem, "is missing or empty; a range of ops needs the name of its model");
    }
    const SpecValue list = member(value_, kRange);
    for (size_t i = 0; i < item_.ranges.size(); ++i) {
      const NameRange& range = item_.ranges[i];
      if (!range.begin.text.empty() && !range.end.empty()) continue;
      return fault(list.element(i), Fault::kValue, "needs \"begin\" and \"end\", both with the name of an op");
    }
    return {};
  }

  Value value_;
  const DumpItem& item_;
  const ItemRules& rules_;
};

}  // namespace

std::span<const std::string_view> item_key_names() { return kItemKeys; }

Status check_item_types(const SpecValue& list) { return check_objects(list, "objects, one for each model", check_item); }

Result<std::vector<DumpItem>> read_items(const SpecValue& list, const ItemRules& rules) {
  std::vector<DumpItem> items;
  ItemReader reader;
  for (size_t i = 0; i < list.json().size(); ++i) {
    const SpecValue element = list.element(i);
    items.push_back(reader.read(element));
    TENSORTAP_RETURN_IF_ERROR(ItemChecker(element, items.back(), rules).check());
  }
  return items;
}

}  // namespace tensortap::ascend
