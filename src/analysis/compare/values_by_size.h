// Values of a dump by how many elements they have and how large these are.

#ifndef TENSORTAP_COMPARE_VALUES_BY_SIZE_H_
#define TENSORTAP_COMPARE_VALUES_BY_SIZE_H_

#include <functional>
#include <optional>
#include <vector>

#include "compare/pairing_keys.h"

namespace tensortap {

// Borrows the keys. Reads the data of values whose records have no statistics, once. Linear in the values, beside sorting.
class ValuesBySize {
 public:
  // Real numbers that ops made, more than 4 of them, of the values that are wanted.
  ValuesBySize(const PairingKeys& keys, const std::function<bool(ValueId)>& is_wanted);

  struct Entry {
    Magnitudes magnitudes;
    ValueId id = kNoValue;
  };
  // In the order of execution.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // Distance from 1 to the next number of the coarsest type among them.
  [[nodiscard]] double coarsest() const { return coarsest_; }
  // Those that can differ from a value of these magnitudes by at most this relative L2, in whatever order the elements lie; at most 64,
  // those of the nearest length, in the order of execution.
  [[nodiscard]] std::vector<ValueId> near(const Magnitudes& magnitudes, double relative_l2) const;

 private:
  std::vector<Entry> entries_;
  std::vector<Entry> sorted_;  // by number of elements and l2
  double coarsest_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_VALUES_BY_SIZE_H_
