#include "compare/shared_codes.h"

#include <algorithm>
#include <cmath>

#include "compare/quantised_programs.h"

namespace tensortap {

double SharedCodes::step(const Way& way) const {
  if (way.codes == 0) return way.type;
  if (!way.both || !are_shared()) return std::max(way.type, way.codes);
  // Codes of fewer bits are those of weights, which stay the same.
  if (way.exact || way.codes > step_of_codes(8)) return way.type;
  // An element gets another code with the probability of its error over the step of the codes; of few elements two may.
  constexpr double kOfFew = 7;
  const double error = std::max(way.type, way.in);
  const double changed =
      std::max(std::sqrt(way.codes * error), kOfFew * way.codes / std::sqrt(static_cast<double>(std::max<uint64_t>(way.numel, 1))));
  return std::max(way.type, std::min(way.codes, changed));
}

}  // namespace tensortap
