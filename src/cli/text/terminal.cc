#include "cli/text/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "base/controls.h"
#include "base/environment.h"
#include "base/json.h"
#include "base/text.h"

namespace tensortap::cli {
namespace {

constexpr size_t kFlushSize = size_t{1} << 16;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kQuietTime = 2 * kSecond;
// What Palette writes.
constexpr std::array<std::string_view, 6> kOwnColours = {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"};

bool colours_on(int fd) { return isatty(fd) == 1 && !environment_value("NO_COLOR"); }

size_t columns_of_stdout() {
  if (const auto columns = environment_value("COLUMNS")) {
    uint64_t value = 0;
    if (parse_unsigned(*columns, value) && value >= 20 && value < 10'000) return value;
  }
  winsize size{};
  if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 0;
}

// Our own colours, and the ends of lines, pass; what else a terminal would obey does not, wherever the text came from.
std::string safe_lines(std::string_view text) {
  // Bytes beyond ASCII are negative.
  const auto is_hostile = [](char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; };
  if (std::ranges::none_of(text, is_hostile)) return std::string(text);
  std::string safe;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\n\t\x1b"), text.size());
    safe += printable(text.substr(0, end));
    text.remove_prefix(end);
    if (text.empty()) break;
    const auto* const own = std::ranges::find_if(kOwnColours, [&](std::string_view code) { return text.starts_with(code); });
    const size_t length = own == kOwnColours.end() ? 1 : own->size();
    safe += text[0] == '\x1b' && own == kOwnColours.end() ? printable(text.substr(0, 1)) : std::string(text.substr(0, length));
    text.remove_prefix(length);
  }
  return safe;
}

void write_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

std::string Palette::wrap(std::string_view code, std::string_view text) const {
  if (!enabled_) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

Terminal::Terminal() : out_palette_(colours_on(STDOUT_FILENO)), error_palette_(colours_on(STDERR_FILENO)), width_(columns_of_stdout()) {}

void Terminal::out(std::string_view text) {
  if (reader_left_) return;
  buffer_ += safe_lines(text);
  if (buffer_.size() >= kFlushSize) flush();
}

void Terminal::line(std::string_view text) {
  if (reader_left_) return;
  buffer_ += safe_lines(text);
  out("\n");
}

void Terminal::json_line(const Json& value) { line(to_json_text(value)); }

void Terminal::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty() && !reader_left_) {
    const ssize_t written = write(STDOUT_FILENO, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) {
      reader_left_ = true;
      break;
    }
    if (written < 0) {
      error(fmt::format("writing standard output: {}", std::strerror(errno)));  // NOLINT(concurrency-mt-unsafe)
      std::_Exit(3);
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
  buffer_.clear();
}

void Terminal::note(std::string_view text) const {
  if (!quiet) write_stderr(fmt::format("{}\n", safe_lines(text)));
}

void Terminal::warn(std::string_view text) const {
  if (!errors_only) write_stderr(fmt::format("{} {}\n", error_palette_.yellow("warning:"), safe_lines(text)));
}

void Terminal::error(std::string_view text) const { write_stderr(fmt::format("{} {}\n", error_palette_.red("error:"), safe_lines(text))); }

std::string time_left_text(int64_t spent_ns, uint64_t done, uint64_t left) {
  constexpr double kMostSeconds = 360'000;
  if (done == 0 || spent_ns < kSecond) return "";
  const double seconds = std::ceil(static_cast<double>(spent_ns) / 1e9 * static_cast<double>(left) / static_cast<double>(done));
  if (seconds > kMostSeconds) return "";
  if (seconds < 100) return fmt::format(", about {:.0f} s left", seconds);
  return seconds < 6000 ? fmt::format(", about {:.0f} min left", seconds / 60) : fmt::format(", about {:.1f} h left", seconds / 3600);
}

Progress::Progress(const Terminal& terminal)
    : enabled_(!terminal.quiet), terminal_(isatty(STDERR_FILENO) == 1), started_ns_(monotonic_ns()), next_ns_(started_ns_ + kQuietTime) {}

Progress::~Progress() { finish(); }

void Progress::update(std::string_view stage, uint64_t done, uint64_t total) {
  const int64_t now = monotonic_ns();
  if (!enabled_) return;
  if (stage != stage_ || done < stage_done_) {
    stage_ = stage;
    stage_ns_ = now;
    stage_done_ = done;
  }
  if (now < next_ns_) return;
  next_ns_ = now + (terminal_ ? kSecond / 5 : 10 * kSecond);
  std::string text = fmt::format("{}", printable(stage));
  if (total > 0) text += fmt::format(": {} of {} ({} %)", done, total, done * 100 / total);
  text += fmt::format(", {} s", (now - started_ns_) / kSecond);
  if (total > done) text += time_left_text(now - stage_ns_, done - stage_done_, total - done);
  write_stderr(terminal_ ? fmt::format("\r\x1b[K{}", text) : fmt::format("{}\n", text));
  shown_ = true;
}

void Progress::finish() {
  if (shown_ && terminal_) write_stderr("\r\x1b[K");
  shown_ = false;
}

std::string printable(std::string_view text) { return replace_controls(text, visible_escape_of); }

size_t text_width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

namespace {

// `width` characters of a longer text: the first `head` of them, "…", and its end.
std::string shortened(std::string_view text, size_t width, size_t head) {
  if (text_width(text) <= width) return std::string(text);
  if (width < 3) return std::string(width, '.');
  std::vector<size_t> starts;  // of each character
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) starts.push_back(i);
  }
  const size_t tail = width - 1 - head;
  return std::string(text.substr(0, starts[head])) + "…" + std::string(text.substr(starts[starts.size() - tail]));
}

}  // namespace

std::string shorten_middle(std::string_view text, size_t width) { return shortened(text, width, width < 1 ? 0 : (width - 1) / 2); }

std::string shorten_start(std::string_view text, size_t width) {
  const std::string cut = shortened(text, width, 0);
  if (cut == text || width < 3) return cut;
  const std::string_view kept = std::string_view(cut).substr(std::string_view("…").size());
  // From the beginning of a part of the name on, where that costs less than half of what is left.
  const size_t part = kept.find_first_of("/.");
  return part == std::string_view::npos || part > kept.size() / 2 ? cut : "…" + std::string(kept.substr(part));
}

}  // namespace tensortap::cli
