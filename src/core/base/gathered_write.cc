#include "base/gathered_write.h"

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "base/size_signal.h"

namespace tensortap {

iovec piece_of(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

Status write_pieces(int file, std::string_view name, std::span<iovec> pieces) {
  const auto drop_empty = [&pieces] {
    while (!pieces.empty() && pieces.front().iov_len == 0) pieces = pieces.subspan(1);
  };
  for (drop_empty(); !pieces.empty(); drop_empty()) {
    const ssize_t written = without_size_signal([&] { return ::writev(file, pieces.data(), static_cast<int>(pieces.size())); });
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno_status(name, errno);
    auto left = static_cast<size_t>(written);
    for (iovec& piece : pieces) {
      const size_t taken = std::min(left, piece.iov_len);
      piece.iov_base = static_cast<std::byte*>(piece.iov_base) + taken;
      piece.iov_len -= taken;
      left -= taken;
    }
  }
  return {};
}

}  // namespace tensortap
