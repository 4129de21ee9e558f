#include <algorithm>

#include "base/text.h"
#include "dialect/acl/dialect.h"
#include "dialect/acl/settings.h"
#include "dialect/mindspore/dialect.h"
#include "dialect/mindspore/settings.h"
#include "dialect/tensortap/dialect.h"
#include "plan/spec_keys.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

constexpr Dialect kDialects[] = {
    {"tensortap", "tensortap's own capture config (JSON)", recognise_tensortap, parse_tensortap, spec_keys},
    {"mindspore", "MindSpore's dump config (MINDSPORE_DUMP_CONFIG)", recognise_mindspore, parse_mindspore, mindspore::keys,
     complete_mindspore_profile, kMindsporeFileSuffix},
    {"acl", "AscendCL's dump config (acl.json)", recognise_acl, parse_acl, acl::keys},
};

}  // namespace

std::span<const Dialect> dialects() { return kDialects; }

const Dialect* find_dialect(std::string_view name) {
  const auto table = dialects();
  const auto found = std::ranges::find(table, name, &Dialect::name);
  return found == table.end() ? nullptr : &*found;
}

const Dialect* recognise_dialect(std::string_view text) {
  if (trim(text).empty()) return find_dialect("tensortap");
  const auto table = dialects();
  const auto found = std::ranges::find_if(table, [text](const Dialect& dialect) { return dialect.recognise(text); });
  return found == table.end() ? nullptr : &*found;
}

Result<CaptureSpec> read_config(std::string_view text, std::string_view name, std::string_view dialect, const DialectOptions& options) {
  const Dialect* chosen = dialect.empty() ? recognise_dialect(text) : find_dialect(dialect);
  if (chosen == nullptr && dialect.empty() && trim(text).starts_with("{")) chosen = find_dialect("tensortap");
  if (chosen != nullptr) {
    TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec spec, chosen->parse(text, name, options));
    TENSORTAP_RETURN_IF_ERROR(check_target(spec, text, name));
    return spec;
  }
  if (!dialect.empty()) return invalid_argument(concat("there is no config language ", quote(dialect)));
  std::vector<std::string> names;
  for (const Dialect& one : dialects()) names.emplace_back(one.name);
  return invalid_argument(concat(name, ": no config: those of ", join(names, ", "), " are JSON objects, and this is none"));
}

Result<std::string> complete_profile(std::string_view profile) {
  for (const Dialect& dialect : dialects()) {
    if (dialect.complete_profile != nullptr && profile.starts_with(dialect.name)) return dialect.complete_profile(profile);
  }
  std::vector<std::string> known;
  for (const Dialect& dialect : dialects()) {
    if (dialect.complete_profile != nullptr) known.emplace_back(dialect.name);
  }
  return invalid_argument(concat("there is no profile ", quote(profile), "; profiles begin with ", join(known, " or ")));
}

}  // namespace tensortap
