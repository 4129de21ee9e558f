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
// numbers but for the norm of complex64. A tensor of NaN alone has the limits of its type as extremes, the wrong way round; any NaN makes
// the mean and the norm "nan". All of it as in the real system's files.
std::array<std::string, 4> msit_statistic_texts(const TensorStats& stats, DType dtype);

// Takes the value of the line kMsitStatistics[number] into `stats`. What is no number is passed over.
void read_msit_statistic(size_t number, std::string_view text, DType dtype, TensorStats& stats);

// What all lines together say: a tensor of NaN alone has no extremes.
void finish_msit_statistics(DType dtype, TensorStats& stats);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_MSIT_BIN_NUMBER_TEXTS_H_
