#include "report/pair_lists.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"

namespace tensortap {
namespace {

constexpr const char* kHistogram = "ulp_histogram";  // large, and lists do not show it
constexpr const char* kTable = "/api/pairs/table";

}  // namespace

void PairLists::add(const std::string& target, const Json& items) {
  List list{target, {}};
  for (const Json& item : items) {
    if (!item.is_object() || !item.contains("pair") || !item.at("pair").is_number_unsigned()) continue;
    const auto pair = item.at("pair").get<uint64_t>();
    const std::string number = to_text(pair);
    if (!table_.contains(number)) {
      Json shown = item;
      shown.erase(kHistogram);
      const size_t bytes = to_json_text(shown).size();
      if (bytes_ + bytes > most_) {
        ++left_out_;
        continue;
      }
      bytes_ += bytes;
      table_[number] = std::move(shown);
    }
    list.pairs.push_back(pair);
  }
  lists_.push_back(std::move(list));
}

std::vector<uint64_t> PairLists::first(size_t most) const {
  std::vector<uint64_t> pairs;
  std::unordered_set<uint64_t> seen;
  size_t longest = 0;
  for (const List& list : lists_) longest = std::max(longest, list.pairs.size());
  for (size_t i = 0; i < longest; ++i) {
    for (const List& list : lists_) {
      if (pairs.size() == most) return pairs;
      if (i < list.pairs.size() && seen.insert(list.pairs[i]).second) pairs.push_back(list.pairs[i]);
    }
  }
  return pairs;
}

bool PairLists::keep(EmbeddedAnswers& answers) const {
  bool all = answers.add_json(kTable, to_json_text(table_));
  for (const List& list : lists_) all = answers.add_json(list.target, to_json_text({{"pairs", list.pairs}})) && all;
  return all;
}

}  // namespace tensortap
