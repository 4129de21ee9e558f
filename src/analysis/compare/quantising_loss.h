// What turning numbers into codes and back changed, known from one dump.

#ifndef TENSORTAP_COMPARE_QUANTISING_LOSS_H_
#define TENSORTAP_COMPARE_QUANTISING_LOSS_H_

#include <cstdint>
#include <unordered_map>

#include "compare/value_table.h"

namespace tensortap {

struct QuantisingLoss {
  double all = 0;        // relative L2
  double wanted = 0;     // the same without numbers below 0 that became 0: a Relu that the quantiser replaces
  double clipped = 0;    // share of the elements that the codes do not reach, without those
  double half_step = 0;  // half the largest scale; 0 where it is not known
};

// The answers for the rows of one dump; data is read once. Borrows the table. One thread.
class QuantisingLosses {
 public:
  explicit QuantisingLosses(const ValueTable& table) : table_(table) {}
  // The loss of a row that DequantizeLinear returned. All 0 for other rows; no loss where its op did not read codes that QuantizeLinear
  // made, or where data are missing.
  const QuantisingLoss& of(uint32_t row);

 private:
  [[nodiscard]] QuantisingLoss measured(uint32_t row) const;
  [[nodiscard]] double half_step_of(uint32_t scale_row) const;
  [[nodiscard]] uint32_t quantised_from(uint32_t row) const;

  const ValueTable& table_;
  std::unordered_map<uint32_t, QuantisingLoss> known_;
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_QUANTISING_LOSS_H_
