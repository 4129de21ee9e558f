#include "source/pytorch/adapter/device_statistics.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/TensorOptions.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "source/pytorch/adapter/device_elements.h"
#include "source/pytorch/adapter/measuring_trial.h"

namespace tensortap::torch_adapter {
namespace {

constexpr const char* kLacksOperators = "the device lacks an operator that measures";
constexpr const char* kOtherType = "type that the device's operators do not measure";
constexpr const char* kRefused = "the device's operators refused this type";
constexpr const char* kWrong = "the device's operators do not count as the host does";
constexpr const char* kOnTrial = "before the device's operators were known to count as the host does";
constexpr const char* kOutOfMemory = "no memory on the device to measure in";
constexpr const char* kNoCopies = "nothing can be copied from the device without waiting";
constexpr const char* kTooLarge = "tensor too large to be measured on the device";

// Elements that are measured at a time: bounds the memory that masks and copies in float64 take.
constexpr int64_t kPartElements = int64_t{1} << 22;
constexpr size_t kMostPartsOfTensor = 256;
constexpr int kMostTimesWithoutMemory = 8;

// What the device writes for a part: 64-bit integers, or doubles in the same place.
enum Word : int64_t {
  kWordNan,  // the counts from here to kWordNonFinite follow each other
  kWordPosInf,
  kWordNegInf,
  kWordZero,
  kWordBelowZero,
  kWordNegZero,
  kWordNonFinite,
  kWordFirst,
  kWordMin,  // of integers an integer
  kWordMax,
  kWordSum,
  kWordDeviations,
  kWordMagnitudes,
  kWordTiny,  // subnormal or zero
  kWords = 16
};

// The operators as the dispatcher knows them. For an operator that the device lacks, torch has a fallback, which may wait for the device.
bool has_operators(c10::Device device) {
  constexpr std::pair<const char*, const char*> kUsed[] = {
      {"aten::ne", "Tensor_out"}, {"aten::eq", "Scalar_out"},   {"aten::lt", "Scalar_out"},
      {"aten::any", "out"},       {"aten::sum", "IntList_out"}, {"aten::argmax", "out"},
      {"aten::amin", "out"},      {"aten::amax", "out"},        {"aten::masked_fill_", "Scalar"},
      {"aten::add", "out"},       {"aten::mul", "out"},         {"aten::div", "out"},
      {"aten::abs", "out"},
  };
  const c10::DispatchKey key = c10::computeDispatchKey(std::nullopt, std::nullopt, device);
  return std::all_of(std::begin(kUsed), std::end(kUsed), [key](const auto& name) {
    const auto found = c10::Dispatcher::singleton().findSchema({name.first, name.second});
    return found.has_value() && found->hasKernelForDispatchKey(key);
  });
}

bool is_measurable_float(at::ScalarType type) { return type == at::kFloat || type == at::kHalf || type == at::kBFloat16; }

bool is_measurable_integer(at::ScalarType type) {
  return type == at::kByte || type == at::kChar || type == at::kShort || type == at::kInt || type == at::kLong || type == at::kBool;
}

double smallest_normal_of(at::ScalarType type) { return type == at::kHalf ? 0x1p-14 : 0x1p-126; }

// What is known of the operators of a device.
class Abilities {
 public:
  static Abilities& get() {
    static auto& abilities = *new Abilities;
    return abilities;
  }
  // Null, or why the device cannot measure tensors of this type. `needs_trial`: as of Trials.
  const char* why_not(c10::Device device, at::ScalarType type, bool& needs_trial) {
    {
      const std::lock_guard lock(mutex_);
      const Ability& ability = of_locked(device);
      if (ability.times_without_memory >= kMostTimesWithoutMemory) return kOutOfMemory;
      if (!ability.has_operators) return kLacksOperators;
    }
    return trials.why_not(device, type, needs_trial);
  }
  // Each such attempt makes torch's allocator free the memory that it keeps for the program.
  void lacked_memory(c10::Device device) {
    const std::lock_guard lock(mutex_);
    ++of_locked(device).times_without_memory;
  }
  Trials trials{{kOnTrial, kWrong, kRefused}, 0x1p-40};

 private:
  struct Ability {
    c10::Device device;
    bool has_operators;
    int times_without_memory = 0;
  };
  Ability& of_locked(c10::Device device) {
    const auto found = std::find_if(abilities_.begin(), abilities_.end(), [device](const Ability& one) { return one.device == device; });
    if (found != abilities_.end()) return *found;
    abilities_.push_back({device, has_operators(device)});
    return abilities_.back();
  }
  std::mutex mutex_;
  std::vector<Ability> abilities_;
};

// Appends the parts of a tensor, in the order of its elements: each has at most kPartElements, and two neighbours have more than that, or
// nearly.
void split(const at::Tensor& tensor, std::vector<at::Tensor>& parts) {
  if (tensor.numel() <= kPartElements) return parts.push_back(tensor.reshape({-1}));
  const int64_t rows = tensor.size(0);
  const int64_t at_once = kPartElements / (tensor.numel() / rows);
  if (at_once == 0) {
    for (int64_t i = 0; i < rows && parts.size() <= kMostPartsOfTensor; ++i) split(tensor.select(0, i), parts);
    return;
  }
  for (int64_t i = 0; i < rows && parts.size() <= kMostPartsOfTensor; i += at_once) {
    parts.push_back(tensor.narrow(0, i, std::min(at_once, rows - i)));
  }
}

// The operators for one part. They write into words of `results`; temporary memory belongs to the stream.
class PartStatistics {
 public:
  PartStatistics(const at::Tensor& elements, const at::Tensor& results, int64_t number, uint32_t wanted, uint64_t& launches)
      : elements_(elements),
        type_(elements.scalar_type()),
        count_(elements.numel()),
        results_(results),
        begin_(number * kWords),
        wanted_(wanted),
        launches_(launches),
        numbers_(at::empty({count_}, elements.options().dtype(at::kDouble).requires_grad(false))) {}

  void measure_float() {
    const at::Tensor masks = new_masks(kWordNonFinite + 1);
    classify(masks);
    const at::Tensor nonfinite = masks.select(0, kWordNonFinite);
    fill_numbers();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    ++launches_, numbers_.masked_fill_(nonfinite, kInfinity);
    at::Tensor least = real(kWordMin);
    ++launches_, at::amin_out(least, numbers_, {0});
    ++launches_, numbers_.masked_fill_(nonfinite, -kInfinity);
    at::Tensor most = real(kWordMax);
    ++launches_, at::amax_out(most, numbers_, {0});
    if ((wanted_ & TENSORTAP_MEASURE_SUBNORMAL) != 0) count_tiny();
    ++launches_, numbers_.masked_fill_(nonfinite, 0);
    sum_numbers(kWordSum);
    if ((wanted_ & TENSORTAP_MEASURE_MAGNITUDES) != 0) sum_magnitudes();
    at::Tensor mean = at::empty({}, numbers_.options());
    ++launches_, mean.copy_(whole(kWordNonFinite));
    ++launches_, at::add_out(mean, mean, c10::scalar_to_tensor(-static_cast<double>(count_)));
    ++launches_, at::div_out(mean, real(kWordSum), mean);
    ++launches_, at::add_out(numbers_, numbers_, mean);  // of the other sign
    ++launches_, numbers_.masked_fill_(nonfinite, 0);
    sum_squares();
  }

  void measure_integer() {
    const at::Tensor masks = new_masks(2);
    fill(masks, 0, [this](at::Tensor& row) { at::eq_out(row, elements_, 0); });
    fill(masks, 1, [this](at::Tensor& row) { at::lt_out(row, elements_, 0); });
    count(masks, kWordZero);
    at::Tensor wide = elements_;
    if (type_ != at::kLong) {
      wide = at::empty({count_}, elements_.options().dtype(at::kLong).requires_grad(false));
      ++launches_, wide.copy_(elements_);
    }
    at::Tensor least = whole(kWordMin);
    at::Tensor most = whole(kWordMax);
    ++launches_, at::amin_out(least, wide, {0});
    ++launches_, at::amax_out(most, wide, {0});
    fill_numbers();
    sum_numbers(kWordSum);
    if ((wanted_ & TENSORTAP_MEASURE_MAGNITUDES) != 0) sum_magnitudes();
    at::Tensor mean = at::empty({}, numbers_.options());
    ++launches_, at::div_out(mean, real(kWordSum), c10::scalar_to_tensor(-static_cast<double>(count_)));
    ++launches_, at::add_out(numbers_, numbers_, mean);
    sum_squares();
  }

 private:
  [[nodiscard]] at::Tensor whole(int64_t word) const { return results_.as_strided({}, {}, begin_ + word); }
  [[nodiscard]] at::Tensor real(int64_t word) const { return results_.view(at::kDouble).as_strided({}, {}, begin_ + word); }
  [[nodiscard]] at::Tensor new_masks(int64_t rows) const {
    return at::empty({rows, count_}, elements_.options().dtype(at::kBool).requires_grad(false));
  }

  template <class Fill>
  void fill(const at::Tensor& masks, int64_t row, const Fill& write) {
    at::Tensor target = masks.select(0, row);
    ++launches_, write(target);
  }

  // Counts each row of the masks, into words that follow each other from `first` on.
  void count(const at::Tensor& masks, int64_t first) {
    at::Tensor counts = results_.as_strided({masks.size(0)}, {1}, begin_ + first);
    ++launches_, at::sum_out(counts, masks, at::IntArrayRef{1}, false, at::kLong);
  }

  // The kinds of elements, in the order of the words. Minus zero shows in its bits alone.
  void classify(const at::Tensor& masks) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    fill(masks, kWordNan, [&](at::Tensor& row) { at::ne_out(row, elements_, elements_); });
    fill(masks, kWordPosInf, [&](at::Tensor& row) { at::eq_out(row, elements_, kInfinity); });
    fill(masks, kWordNegInf, [&](at::Tensor& row) { at::eq_out(row, elements_, -kInfinity); });
    fill(masks, kWordZero, [&](at::Tensor& row) { at::eq_out(row, elements_, 0); });
    fill(masks, kWordBelowZero, [&](at::Tensor& row) { at::lt_out(row, elements_, 0); });
    const bool is_word = type_ == at::kFloat;
    const at::Tensor bits = elements_.view(is_word ? at::kInt : at::kShort);
    const int64_t minus_zero = is_word ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int16_t>::min();
    fill(masks, kWordNegZero, [&](at::Tensor& row) { at::eq_out(row, bits, minus_zero); });
    fill(masks, kWordNonFinite, [&](at::Tensor& row) { at::any_out(row, masks.narrow(0, kWordNan, kWordNegInf + 1), int64_t{0}); });
    count(masks, kWordNan);
    at::Tensor first = whole(kWordFirst);
    ++launches_, at::argmax_out(first, masks.select(0, kWordNonFinite).view(at::kByte), 0);
  }

  void fill_numbers() { ++launches_, numbers_.copy_(elements_); }

  void sum_numbers(int64_t word) {
    at::Tensor sum = real(word);
    ++launches_, at::sum_out(sum, numbers_, at::IntArrayRef{0}, false, at::kDouble);
  }

  // Leaves the squares in the place of the numbers.
  void sum_squares() {
    ++launches_, at::mul_out(numbers_, numbers_, numbers_);
    sum_numbers(kWordDeviations);
  }

  [[nodiscard]] at::Tensor magnitudes() {
    at::Tensor magnitudes = at::empty_like(numbers_);
    ++launches_, at::abs_out(magnitudes, numbers_);
    return magnitudes;
  }

  void sum_magnitudes() {
    const at::Tensor all = magnitudes();
    at::Tensor sum = real(kWordMagnitudes);
    ++launches_, at::sum_out(sum, all, at::IntArrayRef{0}, false, at::kDouble);
  }

  // Counts zeros, too. Elements that are not finite are infinite here.
  void count_tiny() {
    const at::Tensor all = magnitudes();
    const at::Tensor mask = new_masks(1);
    fill(mask, 0, [&](at::Tensor& row) { at::lt_out(row, all, smallest_normal_of(type_)); });
    count(mask, kWordTiny);
  }

  const at::Tensor elements_;
  const at::ScalarType type_;
  const int64_t count_;
  const at::Tensor results_;
  const int64_t begin_;
  const uint32_t wanted_;
  uint64_t& launches_;
  at::Tensor numbers_;
};

struct Raw {
  const int64_t* words;
  [[nodiscard]] int64_t whole(int64_t word) const { return words[word]; }
  [[nodiscard]] double real(int64_t word) const { return reinterpret_cast<const double*>(words)[word]; }
};

tensortap_measured part_of(const Raw& raw, int64_t elements, bool is_float, uint32_t wanted) {
  tensortap_measured part{};
  part.elements = elements;
  part.first_nonfinite = -1;
  part.zero = raw.whole(kWordZero);
  part.negative = raw.whole(kWordBelowZero);
  part.sum = raw.real(kWordSum);
  part.deviations = raw.real(kWordDeviations);
  if ((wanted & TENSORTAP_MEASURE_MAGNITUDES) != 0) part.magnitudes = raw.real(kWordMagnitudes);
  if (!is_float) {
    part.min_integer = raw.whole(kWordMin);
    part.max_integer = raw.whole(kWordMax);
    part.min = static_cast<double>(part.min_integer);
    part.max = static_cast<double>(part.max_integer);
    return part;
  }
  part.nan = raw.whole(kWordNan);
  part.pos_inf = raw.whole(kWordPosInf);
  part.neg_inf = raw.whole(kWordNegInf);
  part.neg_zero = raw.whole(kWordNegZero);
  part.negative -= part.neg_inf;
  part.min = raw.real(kWordMin);
  part.max = raw.real(kWordMax);
  if (raw.whole(kWordNonFinite) > 0) part.first_nonfinite = raw.whole(kWordFirst);
  if ((wanted & TENSORTAP_MEASURE_SUBNORMAL) != 0) part.subnormal = raw.whole(kWordTiny) - part.zero;
  return part;
}

// What the device wrote, in the words of the interface.
class MeasuredParts final : public LateReading {
 public:
  MeasuredParts(std::vector<int64_t> elements, bool is_float, uint32_t wanted)
      : elements_(std::move(elements)), parts_(elements_.size()), is_float_(is_float), wanted_(wanted) {}
  const void* read(const void* data) override {
    const auto* const words = static_cast<const int64_t*>(data);
    for (size_t i = 0; i < parts_.size(); ++i) parts_[i] = part_of({words + i * kWords}, elements_[i], is_float_, wanted_);
    return parts_.data();
  }

 private:
  const std::vector<int64_t> elements_;
  std::vector<tensortap_measured> parts_;
  const bool is_float_;
  const uint32_t wanted_;
};

int queue_statistics(const at::Tensor& tensor, const c10::Stream& stream, uint32_t wanted, tensortap_measuring& begun,
                     const char** reason) {
  const Unseen unseen;
  const bool is_bool = tensor.scalar_type() == at::kBool;
  std::vector<at::Tensor> parts;
  split(is_bool ? tensor.view(at::kByte) : tensor, parts);
  *reason = kTooLarge;
  if (parts.size() > kMostPartsOfTensor) return TENSORTAP_DEVICE_FETCH_ONLY;
  const bool is_float = is_measurable_float(tensor.scalar_type());
  const auto count = static_cast<int64_t>(parts.size());
  const at::Tensor results = at::empty({count * kWords}, tensor.options().dtype(at::kLong).requires_grad(false));
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < count; ++i) {
    // A part of several dims becomes contiguous here, so that only one such copy exists at a time.
    const at::Tensor part = parts[static_cast<size_t>(i)].reshape({-1});
    elements.push_back(part.numel());
    PartStatistics statistics(part, results, i, wanted, begun.launches);
    is_float ? statistics.measure_float() : statistics.measure_integer();
  }
  *reason = kNoCopies;
  int packed = 0;
  LateElements* late = nullptr;
  auto reading = std::make_unique<MeasuredParts>(std::move(elements), is_float, wanted);
  const int state = begin_copy(results, stream, &packed, &late, std::move(reading));
  begun.ticket = late;
  begun.parts = static_cast<uint64_t>(count);
  return state;
}

void try_operators(c10::Device device, at::ScalarType type, const c10::Stream& stream) {
  const Unseen unseen;
  const at::Tensor numbers = trial_numbers(type);
  const at::Tensor there = numbers_on_device(numbers, device);
  if (!there.defined()) return;
  tensortap_measuring begun{};
  const char* reason = nullptr;
  const uint32_t everything = TENSORTAP_MEASURE_MAGNITUDES | TENSORTAP_MEASURE_SUBNORMAL;
  if (queue_statistics(there, stream, everything, begun, &reason) != TENSORTAP_DEVICE_QUEUED) return;
  Abilities::get().trials.begin(device, numbers, static_cast<LateElements*>(begun.ticket));
}

}  // namespace

int begin_statistics(const at::Tensor& tensor, const c10::Stream& stream, uint32_t wanted, tensortap_measuring& begun,
                     const char** reason) noexcept {
  const at::ScalarType type = tensor.scalar_type();
  *reason = kOtherType;
  if (!is_measurable_float(type) && !is_measurable_integer(type)) return TENSORTAP_DEVICE_FETCH_ONLY;
  begun = {};
  *reason = kNoCopies;
  if (!may_begin_copies()) return TENSORTAP_DEVICE_FETCH_ONLY;
  try {
    bool needs_trial = false;
    *reason = Abilities::get().why_not(tensor.device(), type, needs_trial);
    if (needs_trial) try_operators(tensor.device(), type, stream);
    if (*reason != nullptr) return TENSORTAP_DEVICE_FETCH_ONLY;
    return queue_statistics(tensor, stream, wanted, begun, reason);
  } catch (const c10::OutOfMemoryError&) {
    *reason = kOutOfMemory;
    Abilities::get().lacked_memory(tensor.device());
  } catch (...) {
    *reason = kRefused;
    Abilities::get().trials.refuse(tensor.device(), type);
  }
  return TENSORTAP_DEVICE_FETCH_ONLY;
}

}  // namespace tensortap::torch_adapter
