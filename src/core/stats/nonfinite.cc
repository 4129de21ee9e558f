#include "stats/nonfinite.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <optional>

#include "stats/stats_target.h"
#include "tensor/memory_order.h"

namespace tensortap {
namespace {

// Bytes that are scanned before we look at the answer so far. Copied bytes must still be in the nearest cache when they are scanned.
constexpr uint64_t kScanBytes = uint64_t{64} << 10;
constexpr uint64_t kCopiedBytes = uint64_t{16} << 10;
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
  std::byte* copy = nullptr;  // where the words go, null = nowhere
};

bool scan_words(const ScanSpan& span, uint64_t begin, uint64_t end) {
  const uint64_t some = (span.copy == nullptr ? kScanBytes : kCopiedBytes) / span.word_bytes;
  for (uint64_t word = begin; word < end; word += some) {
    const std::byte* words = span.data + word * span.word_bytes;
    const uint64_t count = std::min(some, end - word);
    if (span.copy != nullptr) std::memcpy(span.copy + word * span.word_bytes, words, count * span.word_bytes);
    if (span.kernel(words, count)) return true;
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

// The span of all elements, as if they were contiguous. Nothing when there is nothing to look for.
std::optional<ScanSpan> span_of(const TensorView& view, uint64_t words_each) {
  const DTypeInfo& info = dtype_info(view.desc.dtype);
  const NonFiniteKernel kernel = nonfinite_kernel(info.dtype);
  const uint64_t numel = view.desc.shape.numel().value_or(0);
  if (kernel == nullptr || view.data == nullptr || numel == 0) return std::nullopt;
  return ScanSpan{static_cast<const std::byte*>(view.data), numel * words_each, info.bits / 8U / words_each, kernel};
}

uint64_t words_of_element(const TensorView& view) { return dtype_info(view.desc.dtype).kind == DTypeKind::kComplex ? 2 : 1; }

}  // namespace

bool has_nonfinite(const TensorView& view, const ParallelFor& parallel_for) {
  const uint64_t words_each = words_of_element(view);
  std::optional<ScanSpan> found = span_of(view, words_each);
  if (!found.has_value()) return false;
  ScanSpan& span = *found;
  if (view.is_contiguous()) return scan_span(span, parallel_for);
  const std::optional<TensorView> reordered = in_memory_order(view);
  if (!reordered.has_value()) return scan_strided(view, span.words / words_each, words_each, span);
  span.data = static_cast<const std::byte*>(reordered->data);
  return scan_span(span, parallel_for);
}

bool copy_until_nonfinite(const TensorView& view, std::byte* target, const ParallelFor& parallel_for) {
  std::optional<ScanSpan> span = view.is_contiguous() ? span_of(view, words_of_element(view)) : std::nullopt;
  if (span.has_value()) {
    span->copy = target;
    return scan_span(*span, parallel_for);
  }
  if (has_nonfinite(view, parallel_for)) return true;
  copy_packed(view, target);
  return false;
}

}  // namespace tensortap
