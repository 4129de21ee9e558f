#include "cli/compare_parts.h"

#include <fmt/format.h>

#include <map>

#include "read/dump_parts.h"

namespace tensortap::cli {
namespace {

std::string name_below(const std::string& folder, const std::string& path) {
  const size_t begin = path.find_first_not_of('/', folder.size());
  return begin == std::string::npos ? "" : path.substr(begin);
}

}  // namespace

Result<std::vector<ComparedPart>> compared_parts(const std::string& a, const std::string& b, const ShardOptions& shards,
                                                 const Terminal& terminal) {
  if (joins_shards(shards, a, b)) return std::vector<ComparedPart>{{"", a, b, true}};
  const std::vector<std::string> of_a = dump_parts(a);
  const std::vector<std::string> of_b = dump_parts(b);
  if (of_a.size() < 2 || of_b.size() < 2) return std::vector<ComparedPart>{{"", a, b, false}};
  std::map<std::string, std::string> others;
  for (const std::string& path : of_b) others[name_below(b, path)] = path;
  std::vector<ComparedPart> parts;
  for (const std::string& path : of_a) {
    const std::string name = name_below(a, path);
    const auto found = others.find(name);
    if (found == others.end()) {
      terminal.warn(fmt::format("{} has no counterpart in {}", path, b));
      continue;
    }
    parts.push_back({name, path, found->second, false});
    others.erase(found);
  }
  for (const auto& [name, path] : others) terminal.warn(fmt::format("{} has no counterpart in {}", path, a));
  if (parts.empty()) return corrupt(fmt::format("no part of {} is called as one of {}", a, b));
  return parts;
}

}  // namespace tensortap::cli
