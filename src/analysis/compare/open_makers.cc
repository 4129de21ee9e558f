#include "compare/open_makers.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/text.h"
#include "compare/op_kinds.h"
#include "compare/pairing.h"

namespace tensortap {
namespace {

constexpr size_t kMostShown = 16;  // ops that only show a value, behind each other

class OpenMakers {
 public:
  OpenMakers(const PairingKeys& keys, const std::vector<uint32_t>& pair_of)
      : keys_(keys), pair_of_(pair_of), leads_(pair_of.size(), false) {
    // What reads a value stands behind it.
    for (auto id = static_cast<ValueId>(leads_.size()); id-- > 0;) {
      const auto leads = [this](ValueId reader) { return leads_[reader] || pair_of_[reader] != Pairing::kNoPair; };
      leads_[id] =
          std::ranges::any_of(keys_.readers(id), leads, &PairingKeys::Reader::value) || std::ranges::any_of(keys_.later_readers(id), leads);
    }
  }

  // By what they are and read; kNoValue where several are alike.
  [[nodiscard]] std::unordered_map<std::string, ValueId> find() const {
    std::unordered_map<std::string, ValueId> found;
    for (ValueId id = 0; id < pair_of_.size(); ++id) {
      const std::string key = pair_of_[id] == Pairing::kNoPair && !leads_[id] ? key_of(id) : "";
      if (key.empty()) continue;
      const auto [known, is_new] = found.try_emplace(key, id);
      if (!is_new) known->second = kNoValue;
    }
    return found;
  }

 private:
  [[nodiscard]] std::string key_of(ValueId id) const {
    const Value& value = keys_.table().at(id);
    if (value.given || value.passed || value.slot != 0 || !op_kind_of(keys_.table().op(id)).defines) return "";
    std::string key = PairingKeys::family(keys_.table().op(id));
    bool any = false;
    for (const ValueId input : keys_.inputs(id)) {
      const uint32_t pair = pair_behind(input);
      const bool given = input == kNoValue || keys_.table().at(input).given || keys_.is_constant(input);
      if (pair == Pairing::kNoPair && !given) return "";
      if (pair != Pairing::kNoPair) key += concat("|", pair);
      any |= pair != Pairing::kNoPair && !given;
    }
    return any ? key : "";
  }
  // The pair of the value that an input shows.
  [[nodiscard]] uint32_t pair_behind(ValueId id) const {
    for (size_t looks = 0; id != kNoValue && looks < kMostShown; ++looks) {
      const std::vector<ValueId>& read = keys_.inputs(id);
      if (!PairingKeys::hands_on(keys_.table().op(id)) || read.size() != 1 || read[0] == kNoValue) break;
      id = read[0];
    }
    return id == kNoValue ? Pairing::kNoPair : pair_of_[id];
  }

  const PairingKeys& keys_;
  const std::vector<uint32_t>& pair_of_;
  std::vector<bool> leads_;
};

}  // namespace

std::vector<std::pair<ValueId, ValueId>> open_makers(const PairingKeys& a, const std::vector<uint32_t>& pair_of_a, const PairingKeys& b,
                                                     const std::vector<uint32_t>& pair_of_b) {
  std::vector<std::pair<ValueId, ValueId>> makers;
  const auto in_b = OpenMakers(b, pair_of_b).find();
  for (const auto& [key, id] : OpenMakers(a, pair_of_a).find()) {
    const auto found = in_b.find(key);
    if (id != kNoValue && found != in_b.end() && found->second != kNoValue) makers.emplace_back(id, found->second);
  }
  std::ranges::sort(makers);
  return makers;
}

}  // namespace tensortap
