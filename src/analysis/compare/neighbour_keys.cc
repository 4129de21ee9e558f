#include "compare/neighbour_keys.h"

#include <algorithm>

#include "base/text.h"
#include "compare/pairing.h"

namespace tensortap {

std::string makers_key(const PairingKeys& keys, ValueId id, const std::vector<uint32_t>& pair_of) {
  const Value& value = keys.table().at(id);
  if (value.given || value.passed || keys.inputs(id).empty()) return "";
  std::string key = concat(PairingKeys::family(keys.table().op(id)), "|", value.slot);
  size_t end = 0;
  for (const ValueId input : keys.inputs(id)) {
    const uint32_t pair = input == kNoValue ? Pairing::kNoPair : pair_of[input];
    const bool given = input == kNoValue || keys.table().at(input).given || keys.is_constant(input);
    if (pair == Pairing::kNoPair && !given) return "";
    key += pair == Pairing::kNoPair ? "|?" : concat("|", pair);
    if (pair != Pairing::kNoPair) end = key.size();
  }
  key.resize(end);
  return key;
}

std::string readers_key(const PairingKeys& keys, ValueId id, const std::vector<uint32_t>& pair_of, bool any_maker) {
  const Value& value = keys.table().at(id);
  if (value.given || value.passed) return "";
  std::vector<std::string> readers;
  for (const PairingKeys::Reader& reader : keys.readers(id)) {
    if (pair_of[reader.value] != Pairing::kNoPair) readers.push_back(concat(pair_of[reader.value], "@", reader.position));
  }
  if (readers.empty()) return "";
  std::ranges::sort(readers);
  if (any_maker && value.slot == 0) return join(readers, "|");
  return concat(PairingKeys::family(keys.table().op(id)), "|", value.slot, "|", join(readers, "|"));
}

}  // namespace tensortap
