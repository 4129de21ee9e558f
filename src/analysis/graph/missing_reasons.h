// Why ops of a dump have no records, as far as its manifest tells.

#ifndef TENSORTAP_GRAPH_MISSING_REASONS_H_
#define TENSORTAP_GRAPH_MISSING_REASONS_H_

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "trace/op_info.h"

namespace tensortap {

// Immutable. Manifests list some names for each reason and count the others, so an op that none lists has all reasons that may be its own.
class MissingReasons {
 public:
  // The text of run.json; of one that cannot be read, or says nothing, every reason is "not captured".
  explicit MissingReasons(std::string_view manifest);
  // In words, such as "never ran"; borrowed.
  [[nodiscard]] std::string_view reason(const OpInfo& op) const;

 private:
  static size_t kind_of(const OpInfo& op);
  std::array<std::string, 3> usual_;  // of ops, graph inputs and weights
  std::map<std::string, std::string, std::less<>> named_;
};

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_MISSING_REASONS_H_
