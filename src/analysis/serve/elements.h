// Elements: the numbers of a tensor, or those that two tensors make together, read in pieces; and what is looked for in them.

#ifndef TENSORTAP_SERVE_ELEMENTS_H_
#define TENSORTAP_SERVE_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "trace/dump_index.h"

namespace tensortap {

// Numbers in the order of the dimensions, the last fastest. Thread-safe.
class Elements {
 public:
  explicit Elements(std::vector<int64_t> shape);
  virtual ~Elements() = default;
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  [[nodiscard]] const std::vector<int64_t>& shape() const { return shape_; }
  [[nodiscard]] uint64_t count() const { return count_; }
  // `begin` + `count` is at most count().
  virtual void read(uint64_t begin, uint64_t count, double* numbers) const = 0;

  // The type in which no digit is lost: that of the tensor, or float32 of types that NumPy has no name for; float64 of computed numbers.
  struct ExactType {
    std::string_view descr = "<f8";  // NumPy's name
    size_t bytes = sizeof(double);   // of an element
  };
  [[nodiscard]] virtual ExactType exact_type() const { return {}; }
  // The same elements in this type, into `count` * exact_type().bytes bytes.
  virtual void read_exactly(uint64_t begin, uint64_t count, char* bytes) const;

 private:
  std::vector<int64_t> shape_;
  uint64_t count_ = 0;
};

// The elements of a tensor: bool as 0 and 1, complex numbers as their modulus. Errors: kNotFound for strings, which are no numbers.
Result<std::unique_ptr<Elements>> tensor_elements(RecordData data);

// A - B, where both have the same shape; NaN where the two are not finite in the same way, 0 where they are. Errors: kNotFound.
Result<std::unique_ptr<Elements>> difference_elements(RecordData a, RecordData b);

// The first of a kind: "nonfinite" (behind the element `after`), "largest" and "smallest" of those that are finite, "difference" (the first
// that is not 0). Nothing when there is none.
struct FoundElement {
  uint64_t flat = 0;
  double value = 0;
};
std::optional<FoundElement> find_element(const Elements& elements, std::string_view what, std::optional<uint64_t> after);

// The coordinates of an element.
std::vector<int64_t> coordinates(const std::vector<int64_t>& shape, uint64_t flat);

// {"kind": "linear", "edges", "counts", "zero", "nan", "pos_inf", "neg_inf"}: equal bins between the smallest and largest finite number.
Json linear_histogram_json(const Elements& elements, size_t bins);
// The same of absolute values, with a bin for each power of two. "kind" is "exponent".
Json magnitude_histogram_json(const Elements& elements);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_ELEMENTS_H_
