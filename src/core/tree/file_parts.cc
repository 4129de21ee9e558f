#include "tree/file_parts.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/gathered_write.h"
#include "base/size_signal.h"
#include "base/spans.h"

namespace tensortap {
namespace {

constexpr size_t kCopyBlock = size_t{1} << 20;

Status copy_by_hand(int from, uint64_t at, uint64_t bytes, int to, const std::string& path) {
  std::vector<std::byte> block(static_cast<size_t>(std::min<uint64_t>(bytes, kCopyBlock)));
  while (bytes > 0) {
    const ssize_t got = ::pread(from, block.data(), static_cast<size_t>(std::min<uint64_t>(bytes, block.size())), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_status("a tensor that was kept for its readers", errno);
    if (got == 0) return io_error("a tensor that was kept for its readers is no longer all there");
    iovec piece = piece_of(first_of(std::span<const std::byte>(block), static_cast<uint64_t>(got)));
    TENSORTAP_RETURN_IF_ERROR(write_pieces(to, path, {&piece, 1}));
    at += static_cast<uint64_t>(got);
    bytes -= static_cast<uint64_t>(got);
  }
  return {};
}

bool is_in_memory(const FilePart& part) { return part.kept == nullptr || (part.kept->spool == nullptr && part.kept->path.empty()); }

Status copy_part(const FilePart& part, int file, const std::string& path) {
  const KeptBytes& kept = *part.kept;
  if (kept.spool != nullptr) return copy_range(kept.spool->fd(), kept.at, kept.bytes, file, path);
  TENSORTAP_ASSIGN_OR_RETURN(const File from, File::open(kept.path, O_RDONLY));
  return copy_range(from.fd(), kept.at, kept.bytes, file, path);
}

}  // namespace

Status copy_range(int from, uint64_t at, uint64_t bytes, int to, const std::string& path) {
  while (bytes > 0) {
    auto offset = static_cast<off64_t>(at);
    const auto most = static_cast<size_t>(std::min<uint64_t>(bytes, SSIZE_MAX));
    const ssize_t copied = without_size_signal([&] { return ::copy_file_range(from, &offset, to, nullptr, most, 0); });
    if (copied < 0 && errno == EINTR) continue;
    // Not between these files, or not by this kernel.
    if (copied <= 0) return copy_by_hand(from, at, bytes, to, path);
    at += static_cast<uint64_t>(copied);
    bytes -= static_cast<uint64_t>(copied);
  }
  return {};
}

Status write_parts(int file, const std::string& path, std::span<const FilePart> parts) {
  std::array<iovec, 64> pieces;
  size_t count = 0;
  const auto flush = [&] { return write_pieces(file, path, {pieces.data(), std::exchange(count, 0)}); };
  for (const FilePart& part : parts) {
    if (!is_in_memory(part) || count == pieces.size()) TENSORTAP_RETURN_IF_ERROR(flush());
    if (is_in_memory(part)) {
      pieces[count++] = piece_of(part.kept == nullptr ? part.bytes : std::span(part.kept->memory));
    } else {
      TENSORTAP_RETURN_IF_ERROR(copy_part(part, file, path));
    }
  }
  return flush();
}

}  // namespace tensortap
