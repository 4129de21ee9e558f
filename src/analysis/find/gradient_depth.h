// How gradients change on their way back through the modules of one step.

#ifndef TENSORTAP_FIND_GRADIENT_DEPTH_H_
#define TENSORTAP_FIND_GRADIENT_DEPTH_H_

#include <cstdint>
#include <optional>
#include <string>

#include "trace/dump_index.h"

namespace tensortap {

struct GradientDepth {
  int64_t step = 0;
  uint64_t modules = 0;  // with parameters, in the order of the backward pass
  double slope = 0;      // doublings a module; negative: gradients vanish on the way back, positive: they explode
  std::string first;     // the module where the backward pass begins, and the rms of its gradients
  double first_rms = 0;
  std::string last;
  double last_rms = 0;
};

// The gradients of the last step that has a backward pass. Nothing unless at least six modules with parameters have finite gradients there,
// and these fall or rise steadily by at least two doublings a module. Linear in the records; from their statistics alone.
std::optional<GradientDepth> gradient_depth(const DumpIndex& dump);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_GRADIENT_DEPTH_H_
