// How a function of the C interface gives a status and its message.

#ifndef TENSORTAP_BASE_REPORT_STATUS_H_
#define TENSORTAP_BASE_REPORT_STATUS_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/status.h"

namespace tensortap {

// Returns the status's number. The message goes to `message`, which may be null, cut to `capacity` bytes and always terminated.
inline int report_status(const Status& status, char* message, size_t capacity) {
  if (message != nullptr && capacity > 0) {
    const size_t size = std::min(status.message().size(), capacity - 1);
    std::memcpy(message, status.message().data(), size);
    message[size] = '\0';
  }
  return static_cast<int>(status.code());
}

}  // namespace tensortap

#endif  // TENSORTAP_BASE_REPORT_STATUS_H_
