#include "plan/unmatched.h"

#include <algorithm>

#include "base/other_model.h"
#include "base/text.h"
#include "plan/name_pattern.h"
#include "plan/spec_keys.h"

namespace tensortap {
namespace {

using Kind = OpSelector::Kind;

bool asks_types(const OpSelector& selector) {
  return selector.kind == Kind::kType || selector.kind == Kind::kTypeSubstring || selector.kind == Kind::kScopedType ||
         selector.kind == Kind::kOperationType;
}

const std::vector<std::string>& words_like(const OpSelector& selector, const KnownWords& known) {
  if (selector.kind == Kind::kModule) return known.modules;
  if (asks_types(selector)) return known.types;
  return is_scoped_name(selector) && !known.scoped_names.empty() ? known.scoped_names : known.names;
}

// Whether every part of a path is one of the other, in the same order.
bool has_parts_of(std::string_view path, std::string_view other) {
  const std::vector<std::string_view> wanted = split(other, '/');
  size_t found = 0;
  for (const std::string_view part : split(path, '/')) {
    if (found < wanted.size() && part == wanted[found]) ++found;
  }
  return found == wanted.size();
}

// The ops of a name's module and type, whatever their numbers.
std::string same_module_hint(const OpSelector& selector, const KnownWords& known) {
  if (!is_scoped_name(selector)) return "";
  const auto without_number = [](std::string_view name) { return name.substr(0, name.rfind("-op")); };
  std::vector<std::string> alike;
  for (const std::string& name : known.scoped_names) {
    if (has_parts_of(without_number(name), without_number(selector.text))) alike.push_back(name);
  }
  const std::string nearest_of_them = did_you_mean(selector.text, alike);
  if (alike.empty() || !nearest_of_them.empty()) return nearest_of_them;
  return concat(" Did you mean ", quote(alike.front()), "?");
}

// A hint about the known ids, for an id that no op has.
std::string id_hint(const OpSelector& selector, const std::vector<std::string>& ids) {
  uint64_t roots = 0;
  for (const std::string& id : ids) {
    uint64_t number = 0;
    if (parse_unsigned(id, number)) roots = std::max(roots, number + 1);
  }
  if (roots == 0) return " No op has an id.";
  return concat(" The highest id of an op that is inside no other is ", roots - 1, ".", did_you_mean(selector.text, ids));
}

// An entry without a slash or a number is a type in lists of scoped names, whatever an op is called.
std::string name_as_type_hint(const OpSelector& selector, const KnownWords& known) {
  if (selector.kind != Kind::kScopedType || std::ranges::find(known.names, selector.text) == known.names.end()) return "";
  return concat(" It is the name of an op, and an entry without / and -op is a type: write \"name-regex(", literal_pattern(selector.text),
                ")\".");
}

std::string hint_for(const OpSelector& selector, KnownWords& known) {
  if (selector.kind == Kind::kOrderRange) return " A range needs the whole graph before it runs.";
  if (known.hints_left == 0) return "";
  --known.hints_left;
  if (std::string hint = name_as_type_hint(selector, known); !hint.empty()) return hint;
  if (std::string hint = same_module_hint(selector, known); !hint.empty()) return hint;
  std::string hint = selector.kind == Kind::kId ? id_hint(selector, known.ids) : did_you_mean(selector.text, words_like(selector, known));
  for (const std::string& type : selector.of_types) {
    const bool there = std::ranges::find(known.types, type) != known.types.end();
    if (!there) hint += concat(" There is no type ", quote(type), ".", did_you_mean(type, known.types));
  }
  return hint;
}

}  // namespace

bool is_scoped_name(const OpSelector& selector) { return selector.kind == Kind::kName && selector.text.find("-op") != std::string::npos; }

std::vector<std::string> unmatched_of(const SelectorSet& set, const std::vector<uint64_t>& picked, KnownWords& known, bool optional) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < picked.size(); ++i) {
    const OpSelector& selector = set.selectors()[i];
    if (picked[i] > 0 || selector.optional != optional) continue;
    if (!set.is_of_model(i)) {
      if (known.other_models.insert(selector.of_model).second)
        texts.push_back(other_model_text({selector.of_model, selector.origin, known.models}));
      continue;
    }
    // Looking for its ends already reported why it picks nothing.
    if (selector.kind == Kind::kOrderRange && known.whole_graph && optional) continue;
    if (known.single_names != nullptr && known.single_names->contains(selector.text)) {
      texts.push_back(concat(selector_text(selector), " matches no op of a model: the op of this name is called by itself, outside every ",
                             "model (in PyTorch programs: outside every module), and this list does not look at such ops."));
      continue;
    }
    texts.push_back(selector_text(selector) + " matches no op." + hint_for(selector, known));
  }
  return texts;
}

}  // namespace tensortap
