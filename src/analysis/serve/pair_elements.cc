#include "serve/pair_elements.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr uint64_t kUlpPiece = 4096;

// Numbers the values of a floating type in order: 0 is 0, the smallest one 1. A value between two of them counts as the nearer one.
class FloatOrder {
 public:
  explicit FloatOrder(DType dtype)
      : lowest_(std::ilogb(float_limits(dtype).smallest_normal)), digits_(lowest_ - std::ilogb(float_limits(dtype).smallest)) {}
  [[nodiscard]] int digits() const { return digits_; }
  [[nodiscard]] long double place(double value) const {
    const double size = std::abs(value);
    if (size == 0) return 0;
    const int exponent = std::max(std::ilogb(size), lowest_);
    const long double fraction = std::ldexp(static_cast<long double>(size), digits_ - exponent);
    const long double at = std::nearbyint(fraction) + std::ldexp(static_cast<long double>(exponent - lowest_), digits_);
    return value < 0 ? -at : at;
  }

 private:
  int lowest_;  // exponent of the smallest normal number
  int digits_;  // after the point
};

class UlpElements : public Elements {
 public:
  UlpElements(std::unique_ptr<Elements> a, std::unique_ptr<Elements> b, std::optional<FloatOrder> order)
      : Elements(a->shape()), a_(std::move(a)), b_(std::move(b)), order_(order) {}

  void read(uint64_t begin, uint64_t count, double* numbers) const override {
    std::array<double, kUlpPiece> other{};
    for (uint64_t done = 0; done < count; done += kUlpPiece) {
      const uint64_t size = std::min(kUlpPiece, count - done);
      a_->read(begin + done, size, numbers + done);
      b_->read(begin + done, size, other.data());
      for (uint64_t i = 0; i < size; ++i) numbers[done + i] = apart(numbers[done + i], other[i]);
    }
  }

 private:
  [[nodiscard]] double apart(double a, double b) const {
    if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
    if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::quiet_NaN();
    return order_ ? static_cast<double>(std::abs(order_->place(a) - order_->place(b))) : std::abs(a - b);
  }

  std::unique_ptr<Elements> a_;
  std::unique_ptr<Elements> b_;
  std::optional<FloatOrder> order_;
};

}  // namespace

Result<std::unique_ptr<Elements>> ulp_elements(RecordData a, RecordData b) {
  if (!(a.view.desc.shape == b.view.desc.shape)) return not_found("the shapes differ, so there is no difference of each element");
  const DType dtype_a = a.view.desc.dtype;
  const DType dtype_b = b.view.desc.dtype;
  TENSORTAP_ASSIGN_OR_RETURN(auto first, tensor_elements(std::move(a)));
  TENSORTAP_ASSIGN_OR_RETURN(auto second, tensor_elements(std::move(b)));
  std::optional<FloatOrder> order;
  if (is_floating(dtype_a) && is_floating(dtype_b)) {
    order = FloatOrder(dtype_a).digits() <= FloatOrder(dtype_b).digits() ? FloatOrder(dtype_a) : FloatOrder(dtype_b);
  }
  return std::unique_ptr<Elements>(new UlpElements(std::move(first), std::move(second), order));
}

}  // namespace tensortap
