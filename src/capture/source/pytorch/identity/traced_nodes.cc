#include "source/pytorch/identity/traced_nodes.h"

#include "base/text.h"

namespace tensortap::pytorch {

void TracedNodes::begin() {
  const std::lock_guard lock(mutex_);
  if (tracing_.fetch_add(1) == 0) names_.clear();
}

void TracedNodes::end() {
  const std::lock_guard lock(mutex_);
  if (is_tracing()) tracing_.fetch_sub(1);
}

void TracedNodes::note(int64_t sequence_number, std::string_view name) {
  if (!is_tracing() || sequence_number < 0) return;
  const std::lock_guard lock(mutex_);
  names_[sequence_number] = std::string(name);
}

std::string TracedNodes::names() {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [number, name] : names_) text += concat(number, " ", name, "\n");
  return text;
}

}  // namespace tensortap::pytorch
