#include "source/onnxruntime/runtime/watched_base.h"

#include <atomic>

namespace tensortap::onnxruntime {
namespace {

std::atomic<const abi::ApiBase*> the_real{nullptr};
std::atomic<const abi::ApiBase*> the_ours{nullptr};  // set last

}  // namespace

void set_watched_base(const abi::ApiBase* ours, const abi::ApiBase* real) noexcept {
  the_real.store(real, std::memory_order_relaxed);
  the_ours.store(ours, std::memory_order_release);
}

const abi::ApiBase* unwatched_base(const abi::ApiBase* base) noexcept {
  const abi::ApiBase* ours = the_ours.load(std::memory_order_acquire);
  return ours != nullptr && base == ours ? the_real.load(std::memory_order_relaxed) : base;
}

}  // namespace tensortap::onnxruntime
