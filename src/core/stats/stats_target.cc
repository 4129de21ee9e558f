#include "stats/stats_target.h"

#include <atomic>

#include "base/environment.h"

namespace tensortap {
namespace {

constexpr KernelTable kScalar = {"scalar"};

std::atomic<const KernelTable*> chosen{nullptr};

const KernelTable* find_table(std::string_view name) {
  for (const KernelTable* table : available_kernels()) {
    if (table->name == name) return table;
  }
  return name == kScalar.name ? &kScalar : nullptr;
}

// A name that is not available chooses like none: a program must not fail for it. `doctor` shows what was chosen.
const KernelTable* choose() {
  const KernelTable* table = find_table(environment_value("TENSORTAP_SIMD").value_or(""));
  if (table == nullptr) table = available_kernels().empty() ? &kScalar : available_kernels().front();
  chosen.store(table, std::memory_order_release);
  return table;
}

const KernelTable* table_in_use() {
  const KernelTable* table = chosen.load(std::memory_order_acquire);
  return table != nullptr ? table : choose();
}

}  // namespace

const KernelTable* kernels_in_use() {
  const KernelTable* table = table_in_use();
  return table == &kScalar ? nullptr : table;
}

NonFiniteKernel nonfinite_kernel(DType dtype) { return table_in_use()->nonfinite[static_cast<size_t>(dtype)]; }

std::string_view stats_target() { return table_in_use()->name; }

std::vector<std::string_view> stats_targets() {
  std::vector<std::string_view> names;
  for (const KernelTable* table : available_kernels()) names.push_back(table->name);
  names.push_back(kScalar.name);
  return names;
}

bool set_stats_target(std::string_view name) {
  const KernelTable* table = find_table(name);
  if (table != nullptr) chosen.store(table, std::memory_order_release);
  return table != nullptr;
}

}  // namespace tensortap
