#include "system/mindspore/config/kernels.h"

#include <set>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "plan/name_pattern.h"

namespace tensortap::mindspore {
namespace {

constexpr std::string_view kRegexBegin = "name-regex(";
constexpr size_t kMostKernelNotes = 20;
constexpr size_t kMostPlaces = 500;  // finding a position reads the text from its beginning

// As MindSpore reads an entry, whatever its type is: backslashes stay doubled.
std::string entry_text(const Json& entry) {
  std::string text = to_json_text(entry);
  std::erase_if(text, [](char c) { return c == '"' || c == ' '; });
  return text;
}

OpSelector::Kind kind_of(std::string_view text, const KernelRules& rules) {
  if (rules.regexes && text.starts_with(kRegexBegin) && text.ends_with(')')) return OpSelector::Kind::kNameFullRegex;
  const bool name = text.find('/') != std::string_view::npos || text.find("-op") != std::string_view::npos;
  return rules.types && !name ? OpSelector::Kind::kScopedType : OpSelector::Kind::kName;
}

Status check_regex(const SpecValue& entry, const std::string& text, std::vector<std::string>& notes) {
  if (const auto pattern = NamePattern::compile(text); !pattern.ok()) {
    return entry.error(concat("the regular expression ", quote(text), " is ", pattern.status().message()));
  }
  if (text.find('\\') != std::string::npos && notes.size() < kMostKernelNotes) {
    notes.push_back(concat(entry.path(), ": a backslash reaches the regular expression doubled, as in MindSpore: it is now ", quote(text),
                           "; write [.] for a dot and [0-9] for a digit"));
  }
  return {};
}

}  // namespace

Result<Kernels> parse_kernels(const SpecValue& list, const KernelRules& rules) {
  Kernels kernels;
  std::set<std::string> seen;
  for (size_t i = 0; i < list.json().size(); ++i) {
    const SpecValue entry = list.element(i);
    std::string text = entry_text(entry.json());
    if (text.empty()) continue;
    if (!seen.insert(text).second) {
      if (kernels.notes.size() < kMostKernelNotes) kernels.notes.push_back(concat(entry.path(), ": ", quote(text), " occurs twice"));
      continue;
    }
    OpSelector selector;
    selector.kind = kind_of(text, rules);
    selector.optional = true;
    selector.origin = i < kMostPlaces ? entry.position() : entry.path();
    selector.text = std::move(text);
    if (selector.kind == OpSelector::Kind::kNameFullRegex) {
      selector.text = selector.text.substr(kRegexBegin.size(), selector.text.size() - kRegexBegin.size() - 1);
      TENSORTAP_RETURN_IF_ERROR(check_regex(entry, selector.text, kernels.notes));
      if (selector.text.empty()) selector.text = "()";  // matches the empty name, which nothing has
    }
    kernels.selectors.push_back(std::move(selector));
  }
  return kernels;
}

std::string kernel_of_name(std::string_view name) { return concat(kRegexBegin, literal_pattern(name), ")"); }

}  // namespace tensortap::mindspore
