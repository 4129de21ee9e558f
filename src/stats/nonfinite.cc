#include "stats/nonfinite.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "stats/stats_target.h"
#include "tensor/memory_order.h"

namespace tensortap {
namespace {

// What is looked at before the answer so far is taken note of.
constexpr uint64_t kScanBytes = uint64_t{64} << 10;
constexpr uint64_t kScanPartBytes = uint64_t{256} << 10;
constexpr uint64_t kMostScanParts = 32;
// Strided elements pass through a buffer of this size on the stack.
constexpr uint64_t kGatherBytes = 4096;

// Words of contiguous memory.
struct ScanSpan {
  const std::byte* data;
  uint64_t words;
  uint64_t word_bytes;
  NonFiniteKernel kernel;
};

bool scan_words(const ScanSpan& span, uint64_t begin, uint64_t end) {
  const uint64_t some = kScanBytes / span.word_bytes;
  for (uint64_t word = begin; word < end; word += some) {
    if (span.kernel(span.data + word * span.word_bytes, std::min(some, end - word))) return true;
  }
  return false;
}

struct ScanParts {
  const ScanSpan& span;
  uint64_t count;
  std::atomic<bool> found{false};

  static void run(void* context, size_t index) {
    auto& parts = *static_cast<ScanParts*>(context);
    if (index >= parts.count || parts.found.load(std::memory_order_relaxed)) return;
    const uint64_t each = parts.span.words / parts.count + 1;
    const uint64_t begin = std::min(each * index, parts.span.words);
    if (scan_words(parts.span, begin, std::min(begin + each, parts.span.words))) parts.found.store(true, std::memory_order_relaxed);
  }
};

bool scan_span(const ScanSpan& span, const ParallelFor& parallel_for) {
  const uint64_t parts = std::min(span.words * span.word_bytes / kScanPartBytes, kMostScanParts);
  if (parallel_for.run == nullptr || parts < 2) return scan_words(span, 0, span.words);
  ScanParts job{span, parts};
  parallel_for.run(parallel_for.pool, &ScanParts::run, parts, &job);
  return job.found.load(std::memory_order_relaxed);
}

bool scan_strided(const TensorView& view, uint64_t numel, uint64_t words_each, ScanSpan span) {
  alignas(64) std::array<std::byte, kGatherBytes> buffer;
  const uint64_t piece = kGatherBytes / (words_each * span.word_bytes);
  span.data = buffer.data();
  for (uint64_t done = 0; done < numel; done += piece) {
    const uint64_t count = std::min(piece, numel - done);
    copy_packed_range(view, done, count, buffer.data());
    if (span.kernel(span.data, count * words_each)) return true;
  }
  return false;
}

}  // namespace

bool has_nonfinite(const TensorView& view, const ParallelFor& parallel_for) {
  const DTypeInfo& info = dtype_info(view.desc.dtype);
  const NonFiniteKernel kernel = nonfinite_kernel(info.dtype);
  if (kernel == nullptr || view.data == nullptr) return false;
  const std::optional<uint64_t> numel = view.desc.shape.numel();
  if (!numel.has_value() || *numel == 0) return false;
  const uint64_t words_each = info.kind == DTypeKind::kComplex ? 2 : 1;
  ScanSpan span{static_cast<const std::byte*>(view.data), *numel * words_each, info.bits / 8U / words_each, kernel};
  if (view.is_contiguous()) return scan_span(span, parallel_for);
  const std::optional<TensorView> reordered = in_memory_order(view);
  if (!reordered.has_value()) return scan_strided(view, *numel, words_each, span);
  span.data = static_cast<const std::byte*>(reordered->data);
  return scan_span(span, parallel_for);
}

}  // namespace tensortap
