// A list of selectors, compiled: which of them pick an op. Private to this folder.

#ifndef TENSORTAP_PLAN_SELECTOR_SET_H_
#define TENSORTAP_PLAN_SELECTOR_SET_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "plan/capture_spec.h"
#include "plan/name_pattern.h"
#include "trace/op_info.h"
#include "trace/scoped_name.h"

namespace tensortap {

struct SelectorHit {
  size_t selector = 0;
  const OriginalNode* original = nullptr;  // set when only an original node's name made it match
};

// An op and what the selectors need to know of it besides.
struct SelectedOp {
  const OpInfo* op = nullptr;
  size_t position = 0;      // in the graph, for order ranges
  std::string id;           // "3_1" in the operation tree; empty when no selector asks for ids
  std::string scoped_name;  // trace/scoped_name.h
};

// Immutable except for resolve_ranges(). Thread-compatible.
class SelectorSet {
 public:
  SelectorSet() = default;

  // `models` are the names by which the model that runs is known: selectors of another model pick nothing. Errors: kInvalidArgument with
  // the origin, why and where for a wrong regular expression.
  static Result<SelectorSet> compile(const std::vector<OpSelector>& selectors, std::span<const std::string> models = {});

  [[nodiscard]] const std::vector<OpSelector>& selectors() const { return selectors_; }
  [[nodiscard]] bool empty() const { return selectors_.empty(); }
  [[nodiscard]] bool asks_ids() const;

  // False when the selector is of a model that does not run.
  [[nodiscard]] bool is_of_model(size_t index) const { return of_model_[index]; }

  // Finds the ends of order ranges in a graph. Errors: unknown ends with the nearest names; ends the wrong way round. Those of an optional
  // range go into `notes`, and the range picks nothing.
  Status resolve_ranges(std::span<const OpInfo> ops, std::vector<std::string>& notes);

  // Puts the selectors that pick the op into `hits`, each once.
  void match(const SelectedOp& selected, std::vector<SelectorHit>& hits) const;

 private:
  using ByText = std::unordered_map<std::string, std::vector<size_t>>;
  struct Range {
    size_t first = 1;
    size_t last = 0;
  };

  static Result<Range> find_range(const OpSelector& selector, std::span<const OpInfo> ops);
  void match_exact(const SelectedOp& selected, std::vector<SelectorHit>& hits) const;
  [[nodiscard]] bool picks(size_t index, const SelectedOp& selected, SelectorHit& hit) const;

  std::vector<OpSelector> selectors_;
  std::vector<std::optional<NamePattern>> expressions_;  // beside selectors_, none for other kinds
  std::vector<Range> ranges_;                            // beside selectors_, empty until resolved
  std::vector<bool> of_model_;                           // beside selectors_
  ByText by_name_;                                       // numbers of the exact-name selectors
  ByText by_type_;
  std::vector<size_t> others_;  // all that need a look one by one
};

bool has_type(const OpInfo& op, std::string_view type);
// Every name that people may call an op by: its own, its original nodes' and its outputs'.
std::vector<std::string> all_names(std::span<const OpInfo> ops);
std::vector<std::string> all_types(std::span<const OpInfo> ops);
// With and without the class of the model in front.
std::vector<std::string> all_modules(std::span<const OpInfo> ops);

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_SELECTOR_SET_H_
