#include "serve/elements.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "tensor/number_formats.h"
#include "tensor/tensor.h"

namespace tensortap {
namespace {

constexpr uint64_t kPiece = 4096;

class TensorElements : public Elements {
 public:
  TensorElements(std::vector<int64_t> shape, RecordData data) : Elements(std::move(shape)), data_(std::move(data)) {}

  void read(uint64_t begin, uint64_t count, double* numbers) const override {
    const DType dtype = data_.view.desc.dtype;
    if (dtype_info(dtype).kind != DTypeKind::kComplex) return to_float64(dtype, data_.view.data, begin, count, numbers);
    for (uint64_t i = 0; i < count; ++i) {
      double real = 0;
      double imaginary = 0;
      to_complex128(dtype, data_.view.data, begin + i, real, imaginary);
      numbers[i] = std::isnan(real) || std::isnan(imaginary) ? std::numeric_limits<double>::quiet_NaN() : std::hypot(real, imaginary);
    }
  }

  [[nodiscard]] ExactType exact_type() const override {
    const DTypeInfo& info = dtype_info(data_.view.desc.dtype);
    if (has_no_name(info)) return {"<f4", sizeof(float)};
    return {info.numpy_descr, size_t{info.bits} / 8};
  }

  void read_exactly(uint64_t begin, uint64_t count, char* bytes) const override {
    const DType dtype = data_.view.desc.dtype;
    const size_t size = exact_type().bytes;
    if (!has_no_name(dtype_info(dtype))) {
      std::memcpy(bytes, static_cast<const char*>(data_.view.data) + begin * size, count * size);
      return;
    }
    std::array<float, kPiece> numbers;
    for (uint64_t done = 0; done < count; done += kPiece) {
      const uint64_t piece = std::min(kPiece, count - done);
      to_float32(dtype, data_.view.data, begin + done, piece, numbers.data());
      std::memcpy(bytes + done * size, numbers.data(), piece * size);
    }
  }

 private:
  static bool has_no_name(const DTypeInfo& info) { return info.is_raw_in_numpy || info.bits < 8; }

  RecordData data_;
};

class DifferenceElements : public Elements {
 public:
  DifferenceElements(std::unique_ptr<Elements> a, std::unique_ptr<Elements> b) : Elements(a->shape()), a_(std::move(a)), b_(std::move(b)) {}

  void read(uint64_t begin, uint64_t count, double* numbers) const override {
    std::array<double, kPiece> other;
    for (uint64_t done = 0; done < count; done += kPiece) {
      const uint64_t size = std::min(kPiece, count - done);
      double* piece = numbers + done;
      a_->read(begin + done, size, piece);
      b_->read(begin + done, size, other.data());
      for (uint64_t i = 0; i < size; ++i) piece[i] = difference(piece[i], other[i]);
    }
  }

 private:
  static double difference(double a, double b) {
    if (std::isfinite(a) && std::isfinite(b)) return a - b;
    const bool same = (std::isnan(a) && std::isnan(b)) || a == b;
    return same ? 0 : std::numeric_limits<double>::quiet_NaN();
  }

  std::unique_ptr<Elements> a_;
  std::unique_ptr<Elements> b_;
};

// Calls visit(flat, number) for all elements from `begin` on, until it returns false.
template <class Visit>
void visit_elements(const Elements& elements, uint64_t begin, const Visit& visit) {
  std::array<double, kPiece> numbers;
  for (uint64_t at = begin; at < elements.count(); at += kPiece) {
    const uint64_t size = std::min(kPiece, elements.count() - at);
    elements.read(at, size, numbers.data());
    for (uint64_t i = 0; i < size; ++i) {
      if (!visit(at + i, numbers[i])) return;
    }
  }
}

struct Census {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
  uint64_t zero = 0;
  uint64_t nan = 0;
  uint64_t pos_inf = 0;
  uint64_t neg_inf = 0;

  void add(double number) {
    if (std::isnan(number)) {
      ++nan;
    } else if (std::isinf(number)) {
      ++(number > 0 ? pos_inf : neg_inf);
    } else {
      if (number == 0) ++zero;
      smallest = std::min(smallest, number);
      largest = std::max(largest, number);
    }
  }
};

}  // namespace

Elements::Elements(std::vector<int64_t> shape) : shape_(std::move(shape)), count_(element_count(shape_).value_or(0)) {}

void Elements::read_exactly(uint64_t begin, uint64_t count, char* bytes) const {
  std::array<double, kPiece> numbers;
  for (uint64_t done = 0; done < count; done += kPiece) {
    const uint64_t piece = std::min(kPiece, count - done);
    read(begin + done, piece, numbers.data());
    std::memcpy(bytes + done * sizeof(double), numbers.data(), piece * sizeof(double));
  }
}

Result<std::unique_ptr<Elements>> tensor_elements(RecordData data) {
  const TensorDesc& desc = data.view.desc;
  const DTypeKind kind = dtype_info(desc.dtype).kind;
  if (kind == DTypeKind::kString || kind == DTypeKind::kNone)
    return not_found(concat(dtype_name(desc.dtype), ": its values are no numbers"));
  std::vector<int64_t> shape(desc.shape.dims().begin(), desc.shape.dims().end());
  return std::unique_ptr<Elements>(new TensorElements(std::move(shape), std::move(data)));
}

Result<std::unique_ptr<Elements>> difference_elements(RecordData a, RecordData b) {
  if (!(a.view.desc.shape == b.view.desc.shape)) return not_found("the shapes differ, so there is no difference of each element");
  TENSORTAP_ASSIGN_OR_RETURN(auto first, tensor_elements(std::move(a)));
  TENSORTAP_ASSIGN_OR_RETURN(auto second, tensor_elements(std::move(b)));
  return std::unique_ptr<Elements>(new DifferenceElements(std::move(first), std::move(second)));
}

std::optional<FoundElement> find_element(const Elements& elements, std::string_view what, std::optional<uint64_t> after) {
  std::optional<FoundElement> found;
  const uint64_t begin = after && *after < elements.count() ? *after + 1 : 0;
  visit_elements(elements, begin, [&](uint64_t flat, double number) {
    bool takes = false;
    if (what == "nonfinite") {
      takes = !std::isfinite(number);
    } else if (what == "difference") {
      takes = number != 0;
    } else {
      takes = std::isfinite(number) && (!found || (what == "largest" ? number > found->value : number < found->value));
    }
    if (takes) found = FoundElement{flat, number};
    return !takes || (what != "nonfinite" && what != "difference");
  });
  return found;
}

std::vector<int64_t> coordinates(const std::vector<int64_t>& shape, uint64_t flat) {
  std::vector<int64_t> place(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    const auto size = static_cast<uint64_t>(std::max<int64_t>(shape[axis], 1));
    place[axis] = static_cast<int64_t>(flat % size);
    flat /= size;
  }
  return place;
}

Json linear_histogram_json(const Elements& elements, size_t bins) {
  Census census;
  visit_elements(elements, 0, [&](uint64_t, double number) {
    census.add(number);
    return true;
  });
  std::vector<uint64_t> counts;
  Json edges = Json::array();
  if (census.smallest <= census.largest) {
    // Halves, since the difference of two doubles need not be one.
    const double half_width = census.largest / 2 - census.smallest / 2;
    counts.resize(half_width > 0 ? bins : 1);
    const auto all = static_cast<double>(counts.size());
    visit_elements(elements, 0, [&](uint64_t, double number) {
      if (!std::isfinite(number)) return true;
      const double share = half_width > 0 ? (number / 2 - census.smallest / 2) / half_width : 0;
      ++counts[std::min(static_cast<size_t>(share * all), counts.size() - 1)];
      return true;
    });
    for (size_t i = 0; i <= counts.size(); ++i) {
      const double share = static_cast<double>(i) / all;
      edges.push_back(json_number(census.smallest * (1 - share) + census.largest * share));
    }
  }
  return {{"kind", "linear"},  {"edges", std::move(edges)}, {"counts", counts},         {"zero", census.zero},
          {"nan", census.nan}, {"pos_inf", census.pos_inf}, {"neg_inf", census.neg_inf}};
}

Json magnitude_histogram_json(const Elements& elements) {
  Census census;
  std::map<int, uint64_t> counts;
  visit_elements(elements, 0, [&](uint64_t, double number) {
    census.add(number);
    if (std::isfinite(number) && number != 0) ++counts[std::ilogb(number)];
    return true;
  });
  Json edges = Json::array();
  Json bins = Json::array();
  if (!counts.empty()) {
    const int last = counts.rbegin()->first;
    for (int exponent = counts.begin()->first; exponent <= last; ++exponent) {
      const auto bin = counts.find(exponent);
      bins.push_back(bin == counts.end() ? 0 : bin->second);
      edges.push_back(json_number(std::ldexp(1.0, exponent)));
    }
    edges.push_back(json_number(std::ldexp(1.0, last + 1)));
  }
  return {{"kind", "exponent"}, {"edges", std::move(edges)}, {"counts", std::move(bins)}, {"zero", census.zero},
          {"nan", census.nan},  {"pos_inf", census.pos_inf}, {"neg_inf", census.neg_inf}};
}

}  // namespace tensortap
