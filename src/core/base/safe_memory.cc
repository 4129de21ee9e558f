#include "base/safe_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace tensortap {
namespace {

constexpr size_t kPipeBytes = 4096;  // what a pipe takes without waiting

// For where the system forbids process_vm_readv: what the kernel cannot read, write() refuses.
bool read_through_pipe(const std::byte* from, size_t bytes, std::byte* to) noexcept {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return false;
  bool read_all = true;
  for (size_t at = 0; read_all && at < bytes; at += kPipeBytes) {
    const size_t piece = std::min(kPipeBytes, bytes - at);
    read_all = write(ends[1], from + at, piece) == static_cast<ssize_t>(piece) &&  //
               read(ends[0], to + at, piece) == static_cast<ssize_t>(piece);
  }
  close(ends[0]);
  close(ends[1]);
  return read_all;
}

}  // namespace

bool read_safely(const void* from, size_t bytes, void* to) noexcept {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  size_t done = 0;
  while (done < bytes) {
    const iovec local{target + done, bytes - done};
    const iovec remote{const_cast<std::byte*>(source) + done, bytes - done};  // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
    const ssize_t read = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (read > 0) {
      done += static_cast<size_t>(read);
    } else {
      const bool forbidden = read < 0 && (errno == EPERM || errno == ENOSYS);
      return forbidden && read_through_pipe(source + done, bytes - done, target + done);
    }
  }
  return true;
}

}  // namespace tensortap
