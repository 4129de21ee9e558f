#include "base/message.h"

#include <unistd.h>

#include <exception>

#include "base/size_signal.h"
#include "base/text.h"

namespace tensortap {

void write_to_stderr(std::string_view line) noexcept {
  [[maybe_unused]] const ssize_t written = without_size_signal([&] { return ::write(STDERR_FILENO, line.data(), line.size()); });
}

void say(std::string_view text) noexcept {
  try {
    write_to_stderr(concat("tensortap: ", text, "\n"));
  } catch (const std::exception&) {
    // Without memory for a line, the message is lost.
    return;
  }
}

}  // namespace tensortap
