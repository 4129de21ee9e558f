#include "cli/files/cut_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string_view>

#include "cli/text/exit_code.h"

namespace tensortap::cli {
namespace {

struct sigaction earlier {};

// Lines of /proc/self/maps, by system calls alone: a signal handler may do nothing else.
class MapLines {
 public:
  MapLines() : file_(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~MapLines() {
    if (file_ >= 0) ::close(file_);
  }
  MapLines(const MapLines&) = delete;
  MapLines& operator=(const MapLines&) = delete;

  // The next line without its end; empty after the last. Good until the next call.
  std::string_view next() {
    size_t end = 0;
    while ((end = std::string_view(text_.data() + begin_, size_ - begin_).find('\n')) == std::string_view::npos) {
      std::memmove(text_.data(), text_.data() + begin_, size_ - begin_);
      size_ -= begin_;
      begin_ = 0;
      const ssize_t got = size_ == text_.size() ? 0 : ::read(file_, text_.data() + size_, text_.size() - size_);
      if (got <= 0) return {};
      size_ += static_cast<size_t>(got);
    }
    const std::string_view line(text_.data() + begin_, end);
    begin_ += end + 1;
    return line;
  }

 private:
  int file_;
  std::array<char, 8192> text_{};
  size_t begin_ = 0;
  size_t size_ = 0;
};

// The path of the file that is mapped at the address; empty when none is.
std::string_view file_at(uintptr_t address, MapLines& lines) {
  for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
    uintptr_t first = 0;
    uintptr_t last = 0;
    const char* stop = line.data() + line.size();
    const char* dash = std::from_chars(line.data(), stop, first, 16).ptr;
    if (dash == stop || *dash != '-') continue;
    std::from_chars(dash + 1, stop, last, 16);
    if (address < first || address >= last) continue;
    const size_t path = line.find('/');
    return path == std::string_view::npos ? std::string_view() : line.substr(path);
  }
  return {};
}

void say(std::string_view text) { [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size()); }

// A name may hold what a terminal obeys.
void say_byte(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const bool plain = byte >= 0x20 && byte < 0x7f;
  const std::array<char, 4> text = {plain ? static_cast<char>(byte) : '\\', 'x', kDigits[byte >> 4], kDigits[byte & 0xf]};
  say({text.data(), plain ? 1 : text.size()});
}

void on_bus_error(int signal, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  MapLines lines;
  const std::string_view path = info->si_code > 0 ? file_at(reinterpret_cast<uintptr_t>(info->si_addr), lines) : std::string_view();
  if (!path.empty()) {
    say("error: ");
    for (const char c : path) say_byte(static_cast<unsigned char>(c));
    say(": became shorter while it was being read; run the command again once nothing writes to it\n");
    ::_exit(static_cast<int>(ExitCode::kFailed));
  }
  ::sigaction(signal, &earlier, nullptr);
  // Sent, not raised by an instruction that runs again.
  if (info->si_code <= 0) ::raise(signal);
  errno = error;
}

}  // namespace

void report_cut_files() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &earlier);
}

}  // namespace tensortap::cli
