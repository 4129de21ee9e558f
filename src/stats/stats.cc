#include "stats/stats.h"

namespace tensortap {

TensorStats compute_stats(const TensorView& view, const StatsOptions& options) { return compute_stats_reference(view, options); }

std::string_view stats_target() { return "scalar"; }
std::vector<std::string_view> stats_targets() { return {"scalar"}; }
bool set_stats_target(std::string_view name) { return name == "scalar"; }

}  // namespace tensortap
