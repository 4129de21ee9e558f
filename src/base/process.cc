#include "base/process.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "base/text.h"

namespace tensortap {

void say(std::string_view text) {
  const std::string line = concat("tensortap: ", text, "\n");
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

bool process_exists(uint64_t number) {
  if (number == 0 || number > INT32_MAX) return false;
  return ::kill(static_cast<pid_t>(number), 0) == 0 || errno == EPERM;
}

}  // namespace tensortap
