#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "registry/registry.h"

namespace tensortap {

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

}  // namespace tensortap
