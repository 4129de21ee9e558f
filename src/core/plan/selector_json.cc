// Selectors of ops in the native config: a text (an exact name), or an object with one way to pick.

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"
#include "plan/spec_keys.h"
#include "plan/spec_reader.h"

namespace tensortap {
namespace {

constexpr std::array kSelectorKeys = {
    ConfigKey{"", "name", "text", "not empty", "", "The op, original node or output value of exactly this name."},
    ConfigKey{"", "prefix", "text", "not empty", "", "Ops whose name, original names or output names begin with it."},
    ConfigKey{"", "regex", "text", "RE2 syntax, and look-ahead", "",
              "Ops whose name, an original name or an output name matches somewhere."},
    ConfigKey{"", "type", "text", "not empty", "", "Ops of exactly this type, or made from an original node of it."},
    ConfigKey{"", "type_contains", "text", "not empty", "", "Ops whose type contains it, upper and lower case alike."},
    ConfigKey{"", "from", "text", "a name, or \"\" for the first op", "",
              "With `to`: ops in execution order between the two, both included."},
    ConfigKey{"", "to", "text", "a name, or \"\" for the last op", "", "The last op of the range that `from` begins."},
    ConfigKey{"", "module", "text", "not empty", "",
              "Ops of the module of this path and of the modules inside it; * is any text, ? one character."},
    ConfigKey{"", "source", "text", "FILE:LINE", "", "Ops that come from this line of the author's program."},
    ConfigKey{"", "id", "text", "numbers joined by _, several by commas", "",
              "The ops at these places of the operation tree, such as 2,3_1."},
    ConfigKey{"", "full_regex", "text", "RE2 syntax, and look-ahead", "", "Ops of which one of these names matches as a whole."},
    ConfigKey{"", "scoped_type", "text", "not empty", "",
              "As `type_contains`; of a graph's input or weight, whose name up to the last - contains it."},
    ConfigKey{"", "every", "text", "\"op\", \"single\", \"root\"", "",
              "Every op; or every op that is called by itself, outside every model; or that is inside no other of the operation tree."},
    ConfigKey{"", "operation_type", "text", "not empty", "",
              "Ops whose type, spelt as ATB does (MmOperation, or the class of a module), begins with it, upper and lower case alike."},
    ConfigKey{"", "children", "true or false", "with `id` only", "false", "Whether the ops inside the one of that id are picked too."},
    ConfigKey{"", "of_types", "list of texts", "not empty texts", "[]", "Restricts the selector to ops of these types."},
    ConfigKey{"", "of_model", "text", "any", "\"\"", "Restricts the selector to ops of the model of this name; empty = any model."},
    ConfigKey{"", "slots", "list of texts", "in0, out0, ...; exclusions only", "[]", "Leave out only these slots; none = the whole op."},
    ConfigKey{"", "optional", "true or false", "", "false", "Whether it is a note instead of an error when nothing is picked."},
    ConfigKey{"", "origin", "text", "any", "the place in the file", "Where the selector was said, for messages."},
};

constexpr size_t kMostPositions = 500;  // finding a position reads the text from its beginning

Status check_keys(const SpecValue& value, bool slots_allowed) {
  for (const auto& [key, unused] : value.json().items()) {
    const auto row = std::ranges::find(kSelectorKeys, std::string_view(key), &ConfigKey::name);
    if (row == kSelectorKeys.end()) {
      std::vector<std::string> names;
      for (const ConfigKey& known : kSelectorKeys) names.emplace_back(known.name);
      return value.member(key).error(
          concat("is not a key of a selector.", did_you_mean(key, names), " Take one of ", choices_text(kSelectorWords)));
    }
    if (key == "slots" && !slots_allowed) {
      return value.member(key).error("belongs to \"exclude\" only; the slots to keep are the key \"slots\" of the whole config");
    }
  }
  return {};
}

Status find_kind(const SpecValue& value, OpSelector& selector, std::string& kind_key) {
  for (size_t i = 0; i < kSelectorWords.size(); ++i) {
    const std::string key(kSelectorWords[i]);
    if (!value.json().contains(key)) continue;
    if (!kind_key.empty())
      return value.member(key).error(concat("is combined with ", quote(kind_key), "; use a separate selector for each"));
    kind_key = key;
    selector.kind = static_cast<OpSelector::Kind>(i);
  }
  if (kind_key.empty()) return value.error(concat("says no way to pick ops; give it one of ", choices_text(kSelectorWords)));
  return {};
}

Status read_slots(const SpecValue& value, OpSelector& selector) {
  std::vector<std::string> texts;
  TENSORTAP_RETURN_IF_ERROR(value.read_texts(texts));
  for (size_t i = 0; i < texts.size(); ++i) {
    std::string_view number = texts[i];
    const bool input = number.starts_with("in");
    if (input || number.starts_with("out")) number.remove_prefix(input ? 2 : 3);
    uint64_t index = 0;
    if (number.size() == texts[i].size() || !parse_unsigned(number, index) || index > 65535) {
      return value.element(i).error(concat(quote(texts[i]), " is not a slot; write in0, in1, ... or out0, out1, ..."));
    }
    (input ? selector.input_slots : selector.output_slots).push_back(static_cast<uint32_t>(index));
  }
  return {};
}

Status read_id(const SpecValue& value, const std::string& text) {
  for (const std::string_view id : split(text, ',')) {
    for (const std::string_view part : split(id, '_')) {
      uint64_t number = 0;
      if (!parse_unsigned(part, number))
        return value.error(concat(quote(text), " is not an id; write numbers joined by _ such as \"2,3_1\""));
    }
  }
  return {};
}

Status read_pick(const SpecValue& value, const std::string& kind_key, OpSelector& selector) {
  const SpecValue pick = value.member(kind_key);
  TENSORTAP_RETURN_IF_ERROR(pick.read_text(selector.text));
  const Json& json = value.json();
  if (selector.kind == OpSelector::Kind::kOrderRange) {
    if (!json.contains("to")) return pick.error("needs \"to\" beside it, the last op of the range (\"\" = the last of all)");
    return value.member("to").read_text(selector.text_end);
  }
  if (json.contains("to")) return value.member("to").error("needs \"from\" beside it, the first op of the range");
  if (selector.text.empty()) return pick.error("must not be empty");
  size_t unused = 0;
  if (selector.kind == OpSelector::Kind::kEvery) return pick.read_choice(kEveryWords, unused);
  if (selector.kind == OpSelector::Kind::kId) return read_id(pick, selector.text);
  return {};
}

Status read_object(const SpecValue& value, bool slots_allowed, OpSelector& selector) {
  TENSORTAP_RETURN_IF_ERROR(check_keys(value, slots_allowed));
  std::string kind_key;
  TENSORTAP_RETURN_IF_ERROR(find_kind(value, selector, kind_key));
  TENSORTAP_RETURN_IF_ERROR(read_pick(value, kind_key, selector));
  const Json& json = value.json();
  if (json.contains("children")) {
    const SpecValue children = value.member("children");
    TENSORTAP_RETURN_IF_ERROR(children.read_bool(selector.children));
    if (selector.kind != OpSelector::Kind::kId) return children.error("goes with \"id\" only");
  }
  if (json.contains("of_types")) {
    const SpecValue types = value.member("of_types");
    TENSORTAP_RETURN_IF_ERROR(types.read_texts(selector.of_types));
    if (std::ranges::find(selector.of_types, "") != selector.of_types.end()) return types.error("holds an empty type");
  }
  if (json.contains("of_model")) TENSORTAP_RETURN_IF_ERROR(value.member("of_model").read_text(selector.of_model));
  if (json.contains("slots")) TENSORTAP_RETURN_IF_ERROR(read_slots(value.member("slots"), selector));
  if (json.contains("optional")) TENSORTAP_RETURN_IF_ERROR(value.member("optional").read_bool(selector.optional));
  if (json.contains("origin")) return value.member("origin").read_text(selector.origin);
  return {};
}

Status read_selector(const SpecValue& value, bool slots_allowed, OpSelector& selector) {
  if (value.json().is_object()) return read_object(value, slots_allowed, selector);
  if (!value.json().is_string()) return value.wrong_type("a name or an object such as {\"type\": \"Conv\"}");
  TENSORTAP_RETURN_IF_ERROR(value.read_text(selector.text));
  if (selector.text.empty()) return value.error("must not be an empty name");
  return {};
}

Json selector_to_json(const OpSelector& selector) {
  Json json = Json::object();
  json[std::string(selector_kind_name(selector.kind))] = selector.text;
  if (selector.kind == OpSelector::Kind::kOrderRange) json["to"] = selector.text_end;
  if (selector.children) json["children"] = true;
  if (!selector.of_types.empty()) json["of_types"] = selector.of_types;
  if (!selector.of_model.empty()) json["of_model"] = selector.of_model;
  Json slots = Json::array();
  for (const uint32_t slot : selector.input_slots) slots.push_back(concat("in", slot));
  for (const uint32_t slot : selector.output_slots) slots.push_back(concat("out", slot));
  if (!slots.empty()) json["slots"] = slots;
  if (selector.optional) json["optional"] = true;
  if (!selector.origin.empty()) json["origin"] = selector.origin;
  return json;
}

}  // namespace

std::span<const ConfigKey> selector_keys() { return kSelectorKeys; }

Status read_selectors(const SpecValue& value, bool slots_allowed, std::vector<OpSelector>& selectors) {
  if (!value.json().is_array()) return value.wrong_type("a list of selectors");
  std::vector<OpSelector> read(value.json().size());
  for (size_t i = 0; i < read.size(); ++i) {
    const SpecValue element = value.element(i);
    TENSORTAP_RETURN_IF_ERROR(read_selector(element, slots_allowed, read[i]));
    if (read[i].origin.empty()) read[i].origin = i < kMostPositions ? element.position() : element.path();
  }
  selectors = std::move(read);
  return {};
}

Json selectors_to_json(const std::vector<OpSelector>& selectors) {
  Json json = Json::array();
  for (const OpSelector& selector : selectors) json.push_back(selector_to_json(selector));
  return json;
}

}  // namespace tensortap
