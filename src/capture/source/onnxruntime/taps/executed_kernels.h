// Which kernels a session executed, by ONNX Runtime's own profile: the check that taps changed nothing but added themselves.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_EXECUTED_KERNELS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_EXECUTED_KERNELS_H_

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"

namespace tensortap::onnxruntime {

// Operator type -> number of executions, without what taps are made of. (Node names differ from load to load, so they do not count.)
using KernelCounts = std::map<std::string, int64_t>;

// Errors: kCorrupt when the file is no profile.
Result<KernelCounts> read_profile(const std::string& path);

// "" when equal, otherwise the first few differences in words.
std::string difference(const KernelCounts& plain, const KernelCounts& tapped);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_EXECUTED_KERNELS_H_
