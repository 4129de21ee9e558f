// The floating-point environment in which statistics are computed, whatever the program around us has set.

#ifndef TENSORTAP_STATS_FLOAT_ENVIRONMENT_H_
#define TENSORTAP_STATS_FLOAT_ENVIRONMENT_H_

#include <cfenv>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace tensortap {

// From construction to destruction: rounding to nearest, denormal numbers kept, no traps; then everything, the sticky flags included, is as
// it was. Runtimes flush denormals to zero, which would count them as zeros. One thread.
class FloatEnvironment {
 public:
  FloatEnvironment() {
#if defined(__SSE__)
    control_ = _mm_getcsr();
    if ((control_ & kSettings) == kDefaults) return;
    is_odd_ = true;
#endif
    std::fegetenv(&environment_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvironment() {
#if defined(__SSE__)
    if (!is_odd_) {
      if (_mm_getcsr() != control_) _mm_setcsr(control_);
      return;
    }
#endif
    std::fesetenv(&environment_);
  }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if defined(__SSE__)
  static constexpr unsigned kSettings = 0xFFC0;  // flush, rounding, masks of traps, denormals as zeros; the rest are sticky flags
  static constexpr unsigned kDefaults = 0x1F80;
  unsigned control_ = 0;
  bool is_odd_ = false;
#endif
  std::fenv_t environment_;
};

}  // namespace tensortap

#endif  // TENSORTAP_STATS_FLOAT_ENVIRONMENT_H_
