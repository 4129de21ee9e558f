// Writing pieces of memory one after the other by as few calls as can be.

#ifndef TENSORTAP_BASE_GATHERED_WRITE_H_
#define TENSORTAP_BASE_GATHERED_WRITE_H_

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "base/status.h"

namespace tensortap {

// A piece to write; the memory is only read.
iovec piece_of(std::span<const std::byte> bytes);

// Writes all of the pieces at the position of the descriptor, however many calls it takes. At most IOV_MAX of them (1024). Changes the
// entries of `pieces`. Errors name the file by `name`.
Status write_pieces(int file, std::string_view name, std::span<iovec> pieces);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_GATHERED_WRITE_H_
