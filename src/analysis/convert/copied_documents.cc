#include "convert/copied_documents.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/json_members.h"
#include "base/text.h"
#include "trace/step_documents.h"

namespace tensortap {
namespace {

bool is_of(const std::set<int64_t>& steps, std::string_view line, std::string_view name) {
  const Result<Json> json = parse_json(line, name);
  const Json* step = json.ok() ? member(*json, "step") : nullptr;
  return step != nullptr && step->is_number_integer() && steps.contains(step->get<int64_t>());
}

}  // namespace

uint64_t lines_of_document(const DumpIndex& dump, std::string_view name) {
  const Result<std::string> text = dump.document(name);
  return text.ok() ? static_cast<uint64_t>(std::ranges::count(*text, '\n')) : 0;
}

Status copy_step_documents(const DumpIndex& dump, KeepsDocuments& documents) {
  std::set<int64_t> steps;
  for (const RecordRow& row : dump.rows()) steps.insert(row.step);
  for (const std::string_view name : kStepDocuments) {
    const Result<std::string> text = dump.document(name);
    if (text.status().code() == StatusCode::kNotFound) continue;
    if (!text.ok()) return text.status();
    std::string copied;
    for (const std::string_view line : split(*text, '\n')) {
      if (is_of(steps, line, name)) copied += concat(line, "\n");
    }
    if (!copied.empty()) TENSORTAP_RETURN_IF_ERROR(documents.add_document(name, copied, true));
  }
  return {};
}

}  // namespace tensortap
