// What to say of selectors that pick no op. Private to this folder.

#ifndef TENSORTAP_PLAN_UNMATCHED_H_
#define TENSORTAP_PLAN_UNMATCHED_H_

#include <cstdint>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "plan/selector_set.h"

namespace tensortap {

// What there is to pick, for the nearest of it.
struct KnownWords {
  std::vector<std::string> names;
  std::vector<std::string> types;
  std::vector<std::string> scoped_names;
  std::vector<std::string> ids;
  std::vector<std::string> models;
  bool whole_graph = false;
  const std::unordered_set<std::string>* single_names = nullptr;
  std::set<std::string> other_models = {};  // said already
  std::vector<std::string> modules = {};
  size_t hints_left = 100;  // nearest names are looked for this often: lists may have 100,000 entries
};

// Whether the selector asks for an op by its scope and number, as in "Default/fc1/addmm-op3".
bool is_scoped_name(const OpSelector& selector);

// The selectors of `set` without a hit (`picked`, beside them) that are `optional` or not, in the user's words, each with the nearest of
// what there is; those of one other model once.
std::vector<std::string> unmatched_of(const SelectorSet& set, const std::vector<uint64_t>& picked, KnownWords& known, bool optional);

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_UNMATCHED_H_
