#include "base/process.h"

#include <signal.h>

#include <cerrno>
#include <cstdint>

namespace tensortap {

bool process_exists(uint64_t number) {
  if (number == 0 || number > INT32_MAX) return false;
  return ::kill(static_cast<pid_t>(number), 0) == 0 || errno == EPERM;
}

}  // namespace tensortap
