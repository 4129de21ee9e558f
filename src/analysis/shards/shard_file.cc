#include "shards/shard_file.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tensortap {
namespace {

constexpr std::string_view kSpaces = " \t\r";
constexpr std::string_view kExample = "write a regular expression and the dimensions, such as \".*qkv.*:out0  b s h(tp)\"";

// One line while it is read.
class ShardLineReader {
 public:
  ShardLineReader(std::string_view line, std::string where) : line_(line), where_(std::move(where)) {}

  Result<ShardLine> read() {
    ShardLine made;
    const std::string_view pattern = next_word();
    const size_t column = begin_;
    re2::RE2::Options quiet;
    quiet.set_log_errors(false);
    made.pattern = std::make_unique<re2::RE2>(pattern, quiet);
    if (!made.pattern->ok()) return wrong(column, concat(quote(pattern), " is not a regular expression: ", made.pattern->error()));
    size_t words = 0;
    for (std::string_view word = next_word(); !word.empty(); word = next_word(), ++words) {
      TENSORTAP_RETURN_IF_ERROR(add_word(word, made));
    }
    if (words == 0) return wrong(line_.size(), concat("no dimensions: ", kExample));
    return made;
  }

 private:
  [[nodiscard]] Status wrong(size_t column, std::string_view what) const {
    return invalid_argument(concat(where_, column + 1, ": ", what));
  }

  // Parentheses may hold spaces.
  std::string_view next_word() {
    begin_ = std::min(line_.find_first_not_of(kSpaces, end_), line_.size());
    end_ = begin_;
    for (bool inside = false; end_ < line_.size() && (inside || kSpaces.find(line_[end_]) == std::string_view::npos); ++end_) {
      if (is_dimension_ && line_[end_] == '(') inside = true;
      if (line_[end_] == ')') inside = false;
    }
    is_dimension_ = true;
    return line_.substr(begin_, end_ - begin_);
  }

  // "h", "h(tp)", "h(tp)(sp,zigzag)", "(tp,sum)".
  Status add_word(std::string_view word, ShardLine& made) const {
    const size_t open = std::min(word.find('('), word.size());
    if (word.substr(0, open).find(')') != std::string_view::npos) return wrong(begin_, concat(quote(word), ": ( is missing before )"));
    const bool named = open > 0;
    size_t at = open;
    while (at < word.size()) {
      const size_t close = word.find(')', at);
      if (word[at] != '(' || close == std::string_view::npos) {
        return wrong(begin_ + at, concat(quote(word), ": write a group in parentheses behind its dimension, such as h(tp)"));
      }
      TENSORTAP_ASSIGN_OR_RETURN(ShardCut cut, cut_of(word.substr(at + 1, close - at - 1), begin_ + at + 1));
      if (!named && cut.way != ShardWay::kSum) {
        return wrong(begin_ + at, concat(quote(word), ": only a sum, such as (tp,sum), has no dimension before it"));
      }
      cut.dim = made.dims;
      for (const ShardCut& other : made.cuts) {
        if (other.group == cut.group) return wrong(begin_ + at, concat("the group ", quote(cut.group), " is there twice"));
      }
      made.cuts.push_back(std::move(cut));
      at = close + 1;
    }
    if (named) ++made.dims;
    return {};
  }

  [[nodiscard]] Result<ShardCut> cut_of(std::string_view inside, size_t column) const {
    const size_t comma = inside.find(',');
    ShardCut cut;
    cut.group = std::string(trim(inside.substr(0, comma)));
    if (cut.group.empty()) return wrong(column, "a group has a name, such as tp");
    if (comma == std::string_view::npos) return cut;
    const std::string_view way = trim(inside.substr(comma + 1));
    if (way != "sum" && way != "zigzag") {
      return wrong(column + comma + 1, concat(quote(way), " is no way to cut; valid: sum (summands), zigzag, or nothing (parts in order)"));
    }
    cut.way = way == "sum" ? ShardWay::kSum : ShardWay::kZigzag;
    return cut;
  }

  std::string_view line_;
  std::string where_;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool is_dimension_ = false;
};

}  // namespace

Result<ShardFile> ShardFile::parse(std::string_view text, std::string_view name) {
  ShardFile file;
  file.name_ = std::string(name);
  size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const std::string_view rest = trim(line);
    if (rest.empty() || rest.front() == '#') continue;
    TENSORTAP_ASSIGN_OR_RETURN(ShardLine made, ShardLineReader(line, concat(name, ":", number, ":")).read());
    made.number = number;
    file.lines_.push_back(std::move(made));
  }
  if (file.lines_.empty()) return invalid_argument(concat(name, ": no line says how anything is cut; ", kExample));
  return file;
}

const ShardLine* ShardFile::line_for(std::string_view value) const {
  const auto found = std::ranges::find_if(lines_, [&](const ShardLine& line) { return re2::RE2::PartialMatch(value, *line.pattern); });
  return found == lines_.end() ? nullptr : &*found;
}

}  // namespace tensortap
