// Where a command prints: answers on stdout, everything else on stderr.

#ifndef TENSORTAP_CLI_TEXT_TERMINAL_H_
#define TENSORTAP_CLI_TEXT_TERMINAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_fwd.h"

namespace tensortap::cli {

// Colours for one of the two streams; every function gives the text back unchanged when colours are off.
class Palette {
 public:
  explicit Palette(bool enabled) : enabled_(enabled) {}
  [[nodiscard]] std::string bold(std::string_view text) const { return wrap("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return wrap("2", text); }
  [[nodiscard]] std::string red(std::string_view text) const { return wrap("31", text); }
  [[nodiscard]] std::string green(std::string_view text) const { return wrap("32", text); }
  [[nodiscard]] std::string yellow(std::string_view text) const { return wrap("33", text); }

 private:
  [[nodiscard]] std::string wrap(std::string_view code, std::string_view text) const;
  bool enabled_;
};

// Passes all text through printable() line by line, except for our own colours. Standard output is buffered and written on flush(), at the
// end, and whenever the buffer is large. If the reader went away (`find | head -1`), the rest is dropped and the command goes on, because
// its exit code is an answer too. Any other failure to write stdout ends the program with 3. One thread.
class Terminal {
 public:
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool json = false;         // --json
  bool quiet = false;        // --quiet
  bool errors_only = false;  // no warnings either

  void out(std::string_view text);
  void line(std::string_view text = {});
  void json_line(const Json& value);
  void flush();

  // On stderr: notes and progress are silent with --quiet, warnings with errors_only, errors never are.
  void note(std::string_view text) const;
  void warn(std::string_view text) const;
  void error(std::string_view text) const;

  [[nodiscard]] const Palette& out_palette() const { return out_palette_; }
  [[nodiscard]] const Palette& error_palette() const { return error_palette_; }
  // Columns of stdout; 0 when nothing limits it (a pipe or a file, COLUMNS unset).
  [[nodiscard]] size_t width() const { return width_; }

 private:
  std::string buffer_;
  bool reader_left_ = false;
  Palette out_palette_;
  Palette error_palette_;
  size_t width_;
};

// Says on stderr how far work is that takes more than two seconds, and about how long the stage will still take; shorter work says nothing.
// On a terminal one line that is rewritten, otherwise a line every ten seconds. Called from one thread.
class Progress {
 public:
  explicit Progress(const Terminal& terminal);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  // `total` 0 = unknown.
  void update(std::string_view stage, uint64_t done, uint64_t total);
  // Removes the line, if there is one.
  void finish();

 private:
  bool enabled_;
  bool terminal_;
  bool shown_ = false;
  std::string stage_;
  int64_t stage_ns_ = 0;     // when it was first heard of
  uint64_t stage_done_ = 0;  // how much of it was done then
  int64_t started_ns_;
  int64_t next_ns_;
};

// The seconds that work will still take, if it goes on as it did: ", about 3 min left"; "" if that is unknown.
std::string time_left_text(int64_t spent_ns, uint64_t done, uint64_t left);

// `text` without anything that a hostile dump could use to steer the terminal (base/controls.h), line feeds included: "\x1b", "\u202e" and
// the like replace these characters.
std::string printable(std::string_view text);
// Number of characters (code points) of UTF-8 text.
size_t text_width(std::string_view text);
// At most `width` characters, the middle replaced by "…" when longer.
std::string shorten_middle(std::string_view text, size_t width);
// At most `width` characters, the beginning replaced by "…" when longer, up to a "/" or "." where one is near.
std::string shorten_start(std::string_view text, size_t width);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_TERMINAL_H_
