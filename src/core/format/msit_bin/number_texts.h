// The four statistics in a header, as text.

#ifndef TENSORTAP_FORMAT_MSIT_BIN_NUMBER_TEXTS_H_
#define TENSORTAP_FORMAT_MSIT_BIN_NUMBER_TEXTS_H_

#include <array>
#include <string>
#include <string_view>

#include "tensor/dtype.h"
#include "tensor/tensor_stats.h"

namespace tensortap {

// Names of the lines, in their order.
inline constexpr std::array<std::string_view, 4> kMsitStatistics = {"max", "min", "mean", "l2norm"};

// Their values: six decimals, extremes of integers whole. "N/A" for what was not measured, for types without numbers, and for complex
// numbers, except for the norm of complex64. A tensor of only NaN has the limits of its type as extremes, the wrong way round; any NaN
// makes the mean and the norm "nan". All of this matches the real system's files.
std::array<std::string, 4> msit_statistic_texts(const TensorStats& stats, DType dtype);

// Reads the value of the line kMsitStatistics[number] into `stats`. Ignores text that is no number.
void read_msit_statistic(size_t number, std::string_view text, DType dtype, TensorStats& stats);

// Call after all lines: a tensor of only NaN has no extremes.
void finish_msit_statistics(DType dtype, TensorStats& stats);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_MSIT_BIN_NUMBER_TEXTS_H_
