// The words that configs and messages use for the enumerators of a CaptureSpec.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "plan/spec_keys.h"
#include "plan/spec_reader.h"
#include "tensor/statistics.h"

namespace tensortap {
namespace {

constexpr auto kStatNames = [] {
  std::array<std::string_view, kStatisticTable.size()> names;
  std::ranges::transform(kStatisticTable, names.begin(), &Statistic::name);
  return names;
}();

template <class Names>
std::string_view name_of(const Names& names, size_t index) {
  return index < names.size() ? names[index] : std::string_view("?");
}

}  // namespace

std::string_view payload_name(Payload payload) { return name_of(kPayloadWords, static_cast<size_t>(payload)); }
std::string_view moment_choice_name(MomentChoice moment) { return name_of(kMomentWords, static_cast<size_t>(moment)); }
std::string_view trigger_name(Trigger trigger) { return name_of(kTriggerWords, static_cast<size_t>(trigger)); }
std::string_view overflow_ops_name(OverflowOps ops) { return name_of(kOverflowOpsWords, static_cast<size_t>(ops)); }
std::string_view exception_detail_name(ExceptionDetail detail) { return name_of(kExceptionDetailWords, static_cast<size_t>(detail)); }
std::string_view full_policy_name(FullPolicy policy) { return name_of(kFullPolicyWords, static_cast<size_t>(policy)); }
std::string_view access_name(Access access) { return name_of(kAccessWords, static_cast<size_t>(access)); }
std::string_view selector_kind_name(OpSelector::Kind kind) { return name_of(kSelectorWords, static_cast<size_t>(kind)); }

std::string no_statistic_text(std::string_view name) {
  const std::vector<std::string> known(kStatNames.begin(), kStatNames.end());
  return concat(quote(name), " is no statistic.", did_you_mean(name, known), " Take from ", choices_text(kStatNames),
                ", or \"minimal\" or \"all\"");
}

bool stat_from_name(std::string_view name, uint32_t& stats) {
  if (name == "all") {
    stats |= kStatAll;
    return true;
  }
  if (name == "minimal") {
    stats |= kStatMinimal;
    return true;
  }
  const Statistic* statistic = find_statistic(name);
  if (statistic == nullptr) return false;
  stats |= statistic->bit;
  return true;
}

std::string selector_text(const OpSelector& selector) {
  std::string text;
  switch (selector.kind) {
    case OpSelector::Kind::kName:
      text = concat("the name ", quote(selector.text));
      break;
    case OpSelector::Kind::kNamePrefix:
      text = concat("the name prefix ", quote(selector.text));
      break;
    case OpSelector::Kind::kNameRegex:
    case OpSelector::Kind::kNameFullRegex:
      text = concat("the regular expression ", quote(selector.text));
      break;
    case OpSelector::Kind::kType:
      text = concat("the type ", quote(selector.text));
      break;
    case OpSelector::Kind::kTypeSubstring:
    case OpSelector::Kind::kScopedType:
      text = concat("types that contain ", quote(selector.text));
      break;
    case OpSelector::Kind::kOrderRange:
      text = concat("the range from ", quote(selector.text), " to ", quote(selector.text_end));
      break;
    case OpSelector::Kind::kModule:
      text = concat("the module ", quote(selector.text));
      break;
    case OpSelector::Kind::kSource:
      text = concat("the source line ", quote(selector.text));
      break;
    case OpSelector::Kind::kId:
      text = concat("the id ", quote(selector.text), selector.children ? " with its children" : "");
      break;
    case OpSelector::Kind::kEvery:
      text = selector.text == kEveryWords[1]   ? "every op that is called outside a model"
             : selector.text == kEveryWords[2] ? "every op that is inside no other"
                                               : "every op";
      break;
    case OpSelector::Kind::kOperationType:
      text = concat("operation types that begin with ", quote(selector.text));
      break;
  }
  if (!selector.of_types.empty()) text += concat(" with type ", join(selector.of_types, " or "));
  if (!selector.of_model.empty()) text += concat(" of the model ", quote(selector.of_model));
  if (!selector.origin.empty()) text += concat(" (", selector.origin, ")");
  return text;
}

}  // namespace tensortap
