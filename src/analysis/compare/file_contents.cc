#include "compare/file_contents.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/text.h"
#include "query/op_facts.h"
#include "query/record_lookup.h"
#include "stats/digest.h"

namespace tensortap {
namespace {

uint64_t content_of(const DumpIndex& dump, size_t number) {
  const RecordRow& row = dump.rows()[number];
  const std::string text = content_digest(dump, number);
  return text.empty() ? 0 : std::hash<std::string>()(concat(text, "|", row.numel, "|", row.dtype)) | 1U;
}

// Whether any op names the maker of one of its inputs.
bool has_edges(std::span<const OpInfo> ops) {
  std::unordered_set<std::string_view> made;
  for (const OpInfo& op : ops) made.insert(op.outputs.begin(), op.outputs.end());
  return std::ranges::any_of(ops, [&made](const OpInfo& op) {
    return std::ranges::any_of(
        op.inputs, [&made](const OpInput& input) { return input.producer != kNoOp || (!input.name.empty() && made.contains(input.name)); });
  });
}

}  // namespace

std::string content_digest(const DumpIndex& dump, size_t number) {
  const RecordRow& row = dump.rows()[number];
  Digest digest;
  if ((row.flags & kRecordHasData) != 0) {
    const Result<RecordData> data = dump.data(number);
    if (!data.ok()) return "";
    digest = compute_digest(data->view, DigestKind::kXxh3);
  } else {
    digest.kind = static_cast<DigestKind>(row.digest_kind);
    std::ranges::copy(row.digest, digest.bytes.begin());
  }
  return digest_text(digest);
}

std::vector<uint64_t> file_contents(const DumpIndex& dump) {
  const auto knows_memory = [](const RecordRow& row) { return row.storage != 0; };
  const auto rows = dump.rows();
  if (has_edges(dump.ops()) || std::ranges::any_of(rows, knows_memory)) return {};
  if (std::ranges::none_of(rows, [](const RecordRow& row) { return is_input(row); })) return {};
  std::vector<uint64_t> contents;
  contents.reserve(rows.size());
  for (size_t number = 0; number < rows.size(); ++number) contents.push_back(content_of(dump, number));
  return contents;
}

}  // namespace tensortap
