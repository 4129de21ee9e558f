// Whether two quantised programs compute with the same codes.
//
// Their values then differ by no loss of quantising: only an activation close to the border of two codes may get another one.

#ifndef TENSORTAP_COMPARE_SHARED_CODES_H_
#define TENSORTAP_COMPARE_SHARED_CODES_H_

#include <cstdint>

namespace tensortap {

// Learns from the ops that compute with codes in both programs, in the order of execution. One thread.
class SharedCodes {
 public:
  // The two returned the same bits.
  void note_equal() { ++equal_; }
  // They read the same bits and returned others. Where that comes first, the programs have other codes.
  void note_difference() { are_other_ |= equal_ == 0; }
  [[nodiscard]] bool are_shared() const { return equal_ > 0 && !are_other_; }

  struct Way {
    double type = 0;     // step of the coarsest type on the way to a value
    double codes = 0;    // step of the coarsest codes there, 0 without codes
    bool both = false;   // both programs have codes on it
    bool exact = false;  // the inputs of the value are equal, and every op on the way has a partner
    double in = 0;       // error of the inputs of the value
    uint64_t numel = 0;
  };
  // The step that rounding has on such a way.
  [[nodiscard]] double step(const Way& way) const;

 private:
  uint64_t equal_ = 0;
  bool are_other_ = false;
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_SHARED_CODES_H_
