// The results of a program: the values that it is run for.

#ifndef TENSORTAP_COMPARE_RESULTS_H_
#define TENSORTAP_COMPARE_RESULTS_H_

#include "compare/pairing_keys.h"
#include "compare/value_table.h"

namespace tensortap {

// Borrows the keys. Immutable.
class Results {
 public:
  explicit Results(const PairingKeys& keys);

  // Whether the dump lists the values that its graphs hand out.
  [[nodiscard]] bool are_declared() const { return are_declared_; }
  // Whether a graph hands out this value. Dumps that do not declare their results: whether an op made it and no op read it.
  [[nodiscard]] bool contains(ValueId id) const;

 private:
  const PairingKeys& keys_;
  bool are_declared_ = false;
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_RESULTS_H_
