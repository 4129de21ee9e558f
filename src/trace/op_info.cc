#include "trace/op_info.h"

#include <array>

namespace tensortap {
namespace {

template <size_t N, class Enum>
std::string_view name_of(const std::array<std::string_view, N>& names, Enum value) {
  const auto index = static_cast<size_t>(value);
  return index < N ? names[index] : "unknown";
}

}  // namespace

std::string_view phase_name(Phase phase) {
  static constexpr std::array<std::string_view, 5> kNames = {"inference", "forward", "backward", "update", "load"};
  return name_of(kNames, phase);
}

std::string_view moment_name(Moment moment) {
  static constexpr std::array<std::string_view, 2> kNames = {"after", "before"};
  return name_of(kNames, moment);
}

std::string_view level_name(Level level) {
  static constexpr std::array<std::string_view, 4> kNames = {"op", "kernel", "module", "model"};
  return name_of(kNames, level);
}

}  // namespace tensortap
