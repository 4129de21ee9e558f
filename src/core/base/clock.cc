#include "base/clock.h"

#include <array>
#include <string>

namespace tensortap {
namespace {

std::string formatted(const tm& time, const char* format) {
  std::array<char, 64> text{};
  const size_t size = strftime(text.data(), text.size(), format, &time);
  return {text.data(), size};
}

}  // namespace

std::string wall_clock_digits(uint64_t time_us) {
  constexpr uint64_t kMicroseconds = 1'000'000;
  const auto seconds = static_cast<time_t>(time_us / kMicroseconds);
  tm parts{};
  if (localtime_r(&seconds, &parts) == nullptr) return "";
  return formatted(parts, "%Y%m%d%H%M%S") + std::to_string(1000 + time_us % kMicroseconds / 1000).substr(1);
}

std::string wall_clock_name() {
  const time_t now = time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  return formatted(parts, "%Y%m%d-%H%M%S");
}

std::string wall_clock_iso() {
  const time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  return formatted(parts, "%Y-%m-%dT%H:%M:%SZ");
}

}  // namespace tensortap
