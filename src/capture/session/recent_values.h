// The last values of something that is measured again and again, and what is typical of them.

#ifndef TENSORTAP_SESSION_RECENT_VALUES_H_
#define TENSORTAP_SESSION_RECENT_VALUES_H_

#include <array>
#include <cstddef>
#include <limits>

namespace tensortap {

// Values far from the others are pulled in: a value counts at most as the fence that the middle half of the values sets. So a step that
// the machine held up moves neither the typical value nor the variance, and skewed noise moves both sides of a comparison alike. What is
// asked costs a load: it is worked out with every fourth value once there are some, since a program's short steps pay for it. Not
// thread-safe.
class RecentValues {
 public:
  struct Fences {
    double low;
    double high;
    [[nodiscard]] double pull(double value) const;
  };

  void add(double value);
  // Multiplies all that are kept.
  void scale(double factor);
  // Those that are kept.
  [[nodiscard]] size_t count() const { return count_ < kKept ? count_ : kKept; }
  // With fewer than four values, or none far from the others, the fences let everything in.
  [[nodiscard]] Fences fences() const { return fences_; }
  // The mean, with values pulled in; 0 without values.
  [[nodiscard]] double typical() const { return typical_; }
  // Of one value, pulled in; 0 with fewer than two.
  [[nodiscard]] double variance() const { return variance_; }

 private:
  static constexpr size_t kKept = 32;
  static constexpr double kEverything = std::numeric_limits<double>::infinity();
  void work_out();

  std::array<double, kKept> values_{};
  size_t count_ = 0;
  Fences fences_{-kEverything, kEverything};
  double typical_ = 0;
  double variance_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_RECENT_VALUES_H_
