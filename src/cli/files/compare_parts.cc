#include "cli/files/compare_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "read/dump_parts.h"

namespace tensortap::cli {
namespace {

constexpr std::string_view kProcess = "process_";

// "rank_1/process:SpawnProcess-1/model_x" of "rank_1/process_4711/model_x".
std::string key_of(const DumpPart& part) {
  std::vector<std::string> words;
  for (const std::string_view word : split(part.name, '/')) {
    words.push_back(word.starts_with(kProcess) ? concat("process:", part.role) : std::string(word));
  }
  return join(words, "/");
}

// By key, and by the place among those of the same key.
using PartsByKey = std::map<std::pair<std::string, size_t>, DumpPart>;
PartsByKey parts_by_key(const std::vector<DumpPart>& parts) {
  std::map<std::string, size_t> counts;
  PartsByKey keyed;
  for (const DumpPart& part : parts) {
    const std::string key = key_of(part);
    keyed.emplace(std::pair(key, counts[key]++), part);
  }
  return keyed;
}

std::vector<DumpPart> parts_in(const std::string& folder) {
  std::vector<DumpPart> parts;
  for (const std::string& path : dump_parts(folder)) parts.push_back(part_at(folder, path));
  return parts;
}

// Pairs the parts of A and B.
class Pairing {
 public:
  Pairing(const std::string& a, const std::string& b, const Terminal& terminal) : a_(a), b_(b), terminal_(terminal) {}

  ComparedParts pair() {
    const std::vector<DumpPart> of_a = parts_in(a_);
    const std::vector<DumpPart> of_b = parts_in(b_);
    if (of_a.size() < 2 || of_b.size() < 2) {
      found_.pairs.push_back({"", a_, b_, false});
      pass_over(of_a, b_);
      pass_over(of_b, a_);
    } else {
      pair(of_a, parts_by_key(of_b));
    }
    return std::move(found_);
  }

 private:
  void pass_over(const std::vector<DumpPart>& parts, const std::string& other) {
    for (const DumpPart& part : parts) {
      if (parts.size() > 1 && part.name != kFirstPart) tell_alone(part, other);
    }
  }
  void pair(const std::vector<DumpPart>& of_a, PartsByKey of_b) {
    std::map<std::string, size_t> counts;
    for (const DumpPart& part : of_a) {
      const std::string key = key_of(part);
      const auto other = of_b.find({key, counts[key]++});
      if (other == of_b.end()) {
        tell_alone(part, b_);
        continue;
      }
      found_.pairs.push_back({part.name, part.path, other->second.path, false});
      of_b.erase(other);
    }
    for (const auto& [key, part] : of_b) tell_alone(part, a_);
  }
  void tell_alone(const DumpPart& part, const std::string& other) {
    found_.has_all = false;
    terminal_.warn(printable(
        fmt::format("{}{} has no counterpart in {}", part.path, part.role.empty() ? "" : fmt::format(" ({})", part.role), other)));
  }

  const std::string& a_;
  const std::string& b_;
  const Terminal& terminal_;
  ComparedParts found_;
};

}  // namespace

Result<ComparedParts> compared_parts(const std::string& a, const std::string& b, const ShardOptions& shards, const Terminal& terminal) {
  if (joins_shards(shards, a, b)) return ComparedParts{{{"", a, b, true}}, true};
  ComparedParts parts = Pairing(a, b, terminal).pair();
  if (parts.pairs.empty()) return corrupt(fmt::format("no part of {} is called as one of {}", a, b));
  return parts;
}

bool is_noise_of(const std::string& path, const std::string& folder) {
  const std::vector<std::string> inside = noise_dumps(path);
  std::error_code ignored;
  return std::ranges::any_of(inside, [&](const std::string& one) { return std::filesystem::equivalent(one, folder, ignored); });
}

}  // namespace tensortap::cli
