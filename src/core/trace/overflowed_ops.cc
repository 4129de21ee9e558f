#include "trace/overflowed_ops.h"

#include <optional>
#include <utility>

#include "base/json.h"

namespace tensortap {
namespace {

constexpr const char* kMember = "overflowed_ops";

template <class Number>
bool read_number(const Json& entry, const char* name, Number& number) {
  const auto found = entry.find(name);
  if (found == entry.end() || !found->is_number_integer()) return false;
  const auto value = found->get<int64_t>();
  number = static_cast<Number>(value);
  return std::in_range<Number>(value);
}

std::optional<OverflowedOp> read_entry(const Json& entry) {
  if (!entry.is_object()) return std::nullopt;
  OverflowedOp one;
  const auto op = entry.find("op");
  if (op == entry.end() || !op->is_string()) return std::nullopt;
  one.op = op->get<std::string>();
  const bool whole = read_number(entry, "step", one.step) && read_number(entry, "call", one.call) && read_number(entry, "rank", one.rank);
  return whole ? std::optional(std::move(one)) : std::nullopt;
}

}  // namespace

std::string with_overflowed_ops(std::string manifest, const std::set<OverflowedOp>& ops) {
  if (ops.empty()) return manifest;
  Result<Json> json = parse_json(manifest, "the manifest");
  if (!json.ok() || !json->is_object()) return manifest;
  Json list = Json::array();
  for (const OverflowedOp& one : ops) list.push_back({{"op", one.op}, {"step", one.step}, {"call", one.call}, {"rank", one.rank}});
  (*json)[kMember] = std::move(list);
  return to_json_text(*json);
}

std::set<OverflowedOp> overflowed_ops(const std::string& manifest) {
  std::set<OverflowedOp> ops;
  const Result<Json> json = parse_json(manifest, "the manifest");
  if (!json.ok() || !json->is_object()) return ops;
  const auto list = json->find(kMember);
  if (list == json->end() || !list->is_array()) return ops;
  for (const Json& entry : *list) {
    if (auto one = read_entry(entry)) ops.insert(*std::move(one));
  }
  return ops;
}

}  // namespace tensortap
