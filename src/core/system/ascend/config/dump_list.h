// The key `dump_list`: which models and which of their ops.

#ifndef TENSORTAP_SYSTEM_ASCEND_CONFIG_DUMP_LIST_H_
#define TENSORTAP_SYSTEM_ASCEND_CONFIG_DUMP_LIST_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "plan/spec_reader.h"

namespace tensortap::ascend {

// A text of the config and its place, for messages.
struct Named {
  std::string text;
  std::string origin;
};

struct BlacklistEntry {
  Named name;
  std::vector<std::string> positions;  // "input0", or anything
};

struct NameRange {
  Named begin;
  std::string end;
};

// One element of the list.
struct DumpItem {
  std::string origin;
  std::optional<std::string> model_name;
  std::optional<std::vector<Named>> layers;
  std::vector<Named> watcher_nodes;
  std::vector<BlacklistEntry> type_blacklist;
  std::vector<BlacklistEntry> name_blacklist;
  std::vector<NameRange> ranges;

  [[nodiscard]] bool names_no_op() const { return (!layers || layers->empty()) && ranges.empty(); }
};

// The rules of the other keys for the items.
struct ItemRules {
  bool watcher = false;   // "dump_scene": "watcher"
  bool single = false;    // "dump_op_switch": "on"
  bool op_level = false;  // "dump_level": "op", given explicitly
};

// The keys of an item, in the order in which their types are checked.
std::span<const std::string_view> item_key_names();

// Errors: EP0001 for the first value of the wrong type.
Status check_item_types(const SpecValue& list);
// Reads items whose types have been checked, and checks them one by one. Errors: the first fault.
Result<std::vector<DumpItem>> read_items(const SpecValue& list, const ItemRules& rules);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_CONFIG_DUMP_LIST_H_
