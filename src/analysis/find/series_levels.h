// What is usual among the series of a dump: how large the values of each role are at first, and how far all gradients fall together.

#ifndef TENSORTAP_FIND_SERIES_LEVELS_H_
#define TENSORTAP_FIND_SERIES_LEVELS_H_

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "find/step_series.h"

namespace tensortap {

enum class SeriesRole : uint8_t { kWeight, kGradient, kValue };

// Add every series, then finish(), then ask.
class SeriesLevels {
 public:
  void add(SeriesRole role, std::span<const StepPoint> points);
  void finish();
  // The rms that a tenth of the series of a role exceed at first, as a logarithm to base 2; -Inf where none is known.
  [[nodiscard]] double usual(SeriesRole role) const { return usual_[static_cast<size_t>(role)]; }
  // By how many doublings the gradients have changed since the first steps: the tenth of them that fell the least. Constant gradients, such
  // as that of a loss to itself, do not count. 0 with fewer than three known series, which cannot show whether the others fell as well.
  [[nodiscard]] double gradient_change(int64_t step) const;

 private:
  static constexpr size_t kRoles = 3;
  std::array<std::vector<double>, kRoles> early_;
  std::array<double, kRoles> usual_{};
  std::map<int64_t, std::vector<double>> changes_;
  std::map<int64_t, double> change_;
};

}  // namespace tensortap

#endif  // TENSORTAP_FIND_SERIES_LEVELS_H_
