#include "pattern/lookahead_pattern.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/text.h"

namespace tensortap {
namespace {

using Bytes = std::bitset<256>;

constexpr uint32_t kMostRepeats = 1000;
constexpr uint32_t kNoLimit = UINT32_MAX;

size_t code_of(char letter) { return static_cast<unsigned char>(letter); }

void add_range(Bytes& bytes, size_t first, size_t last) {
  for (size_t code = first; code <= last; ++code) bytes.set(code);
}

Bytes digits() {
  Bytes bytes;
  add_range(bytes, '0', '9');
  return bytes;
}

Bytes word_letters() {
  Bytes bytes = digits();
  add_range(bytes, 'a', 'z');
  add_range(bytes, 'A', 'Z');
  bytes.set('_');
  return bytes;
}

Bytes spaces() {
  Bytes bytes;
  for (const char space : std::string_view(" \t\n\v\f\r")) bytes.set(code_of(space));
  return bytes;
}

bool is_word_letter(char letter) {
  static const Bytes kLetters = word_letters();
  return kLetters.test(code_of(letter));
}

// The bytes that \d, \w, \s and their opposites match; false for other letters.
bool named_set(char letter, Bytes& bytes) {
  switch (letter) {
    case 'd':
    case 'D':
      bytes = digits();
      break;
    case 'w':
    case 'W':
      bytes = word_letters();
      break;
    case 's':
    case 'S':
      bytes = spaces();
      break;
    default:
      return false;
  }
  if (letter >= 'A' && letter <= 'Z') bytes.flip();
  return true;
}

// The control character that an escaped letter means, or the character itself; false for letters and digits that mean nothing here.
bool escaped_byte(char letter, char& byte) {
  constexpr std::array<std::pair<char, char>, 5> kControls = {{{'t', '\t'}, {'n', '\n'}, {'v', '\v'}, {'f', '\f'}, {'r', '\r'}}};
  const auto* control = std::ranges::find(kControls, letter, &std::pair<char, char>::first);
  byte = control != kControls.end() ? control->second : letter;
  return control != kControls.end() || !is_word_letter(letter) || letter == '_';
}

}  // namespace

// Recursive descent; the depth is limited.
class LookaheadCompiler {
 public:
  explicit LookaheadCompiler(std::string_view pattern) : pattern_(pattern) {}

  Result<LookaheadPattern> compile() {
    TENSORTAP_RETURN_IF_ERROR(alternatives(0));
    if (!at_end()) return wrong("a ) without its (");
    add(Act::kDone);
    return std::move(made_);
  }

 private:
  using Act = LookaheadPattern::Act;
  using Instruction = LookaheadPattern::Instruction;

  [[nodiscard]] bool at_end() const { return at_ == pattern_.size(); }
  [[nodiscard]] uint32_t here() const { return static_cast<uint32_t>(made_.program_.size()); }
  [[nodiscard]] Status wrong(std::string_view why) const { return invalid_argument(concat("column ", at_ + 1, ": ", why)); }
  bool take(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  void add(Act act, uint32_t to = 0, uint32_t other = 0) { made_.program_.push_back({act, to, other}); }
  void add_set(const Bytes& bytes) {
    made_.sets_.push_back(bytes);
    add(Act::kByte, static_cast<uint32_t>(made_.sets_.size() - 1));
  }
  // Makes room for one instruction in front of those from `begin` on, which move.
  void insert(uint32_t begin, Act act) {
    made_.program_.insert(made_.program_.begin() + begin, Instruction{act});
    for (uint32_t i = begin + 1; i < here(); ++i) move(made_.program_[i], begin, 1);
  }
  static void move(Instruction& instruction, uint32_t from, uint32_t by) {
    if (instruction.act == Act::kByte) return;
    if (instruction.to >= from) instruction.to += by;
    if (instruction.act == Act::kSplit && instruction.other >= from) instruction.other += by;
  }

  Status alternatives(int depth) {
    if (depth > LookaheadPattern::kDeepest) return wrong("groups are nested too deeply");
    const uint32_t begin = here();
    TENSORTAP_RETURN_IF_ERROR(sequence(depth));
    if (!take("|")) return {};
    insert(begin, Act::kSplit);
    made_.program_[begin].to = begin + 1;
    const uint32_t jump = here();
    add(Act::kJump);
    made_.program_[begin].other = here();
    TENSORTAP_RETURN_IF_ERROR(alternatives(depth));
    made_.program_[jump].to = here();
    return {};
  }

  Status sequence(int depth) {
    while (!at_end() && pattern_[at_] != '|' && pattern_[at_] != ')') {
      const uint32_t begin = here();
      bool repeats = true;
      TENSORTAP_RETURN_IF_ERROR(term(depth, repeats));
      TENSORTAP_RETURN_IF_ERROR(quantifier(begin, repeats));
      if (here() > LookaheadPattern::kMostInstructions) return wrong("the pattern is too large");
    }
    return {};
  }

  Status term(int depth, bool& repeats) {
    for (const auto& [text, act] : kAssertions) {
      if (!take(text)) continue;
      repeats = false;
      add(act);
      return {};
    }
    for (const auto& [text, act] : {std::pair("(?=", Act::kLook), std::pair("(?!", Act::kLookNot)}) {
      if (!take(text)) continue;
      repeats = false;
      return look(depth, act);
    }
    if (take("(?:") || take("(")) return group(depth);
    if (take("[")) return character_class();
    if (take("\\")) return escape();
    if (pattern_[at_] == '*' || pattern_[at_] == '+' || pattern_[at_] == '?' || pattern_[at_] == '{') return wrong("nothing to repeat");
    Bytes bytes;
    if (take(".")) {
      bytes.set();
      bytes.reset('\n').reset('\r');
    } else {
      bytes.set(code_of(pattern_[at_++]));
    }
    add_set(bytes);
    return {};
  }

  Status group(int depth) {
    if (take("?")) return wrong("a group of this kind is not known here");
    TENSORTAP_RETURN_IF_ERROR(alternatives(depth + 1));
    return take(")") ? Status() : wrong("a ( without its )");
  }

  Status look(int depth, Act act) {
    const uint32_t begin = here();
    add(act);
    TENSORTAP_RETURN_IF_ERROR(group(depth));
    add(Act::kDone);
    made_.program_[begin].to = here();
    return {};
  }

  Status escape() {
    if (at_end()) return wrong("a \\ at the end");
    Bytes bytes;
    char byte = 0;
    const char letter = pattern_[at_];
    if (!named_set(letter, bytes)) {
      if (!escaped_byte(letter, byte)) return wrong("this escape is not known here");
      bytes.set(code_of(byte));
    }
    ++at_;
    add_set(bytes);
    return {};
  }

  // One member of a class: a character, which may begin a range, or a set of them.
  Status member(Bytes& bytes, char& byte, bool& is_set) {
    is_set = false;
    byte = pattern_[at_];
    if (byte == '[' && at_ + 1 < pattern_.size() && std::string_view(":.=").find(pattern_[at_ + 1]) != std::string_view::npos) {
      return wrong("classes by name are not known here");
    }
    if (take("\\")) {
      if (at_end()) return wrong("a \\ at the end");
      is_set = named_set(pattern_[at_], bytes);
      if (!is_set && !escaped_byte(pattern_[at_], byte)) return wrong("this escape is not known here");
    }
    ++at_;
    return {};
  }

  Status character_class() {
    const bool negated = take("^");
    Bytes bytes;
    while (!take("]")) {
      Bytes set;
      char first = 0;
      bool is_set = false;
      if (at_end()) return wrong("a [ without its ]");
      TENSORTAP_RETURN_IF_ERROR(member(set, first, is_set));
      char last = first;
      if (!is_set && pattern_.substr(at_).starts_with('-') && !pattern_.substr(at_).starts_with("-]") && at_ + 1 < pattern_.size()) {
        ++at_;
        TENSORTAP_RETURN_IF_ERROR(member(set, last, is_set));
        if (is_set || code_of(last) < code_of(first)) return wrong("a range the wrong way round");
      }
      if (is_set) {
        bytes |= set;
      } else {
        add_range(bytes, code_of(first), code_of(last));
      }
    }
    add_set(negated ? ~bytes : bytes);
    return {};
  }

  bool number(uint32_t& value) {
    const size_t begin = at_;
    for (value = 0; !at_end() && pattern_[at_] >= '0' && pattern_[at_] <= '9'; ++at_) {
      value = std::min(value * 10 + static_cast<uint32_t>(pattern_[at_] - '0'), kMostRepeats + 1);
    }
    return at_ > begin;
  }

  // Repeats what was compiled from `begin` on. Lazy or not makes no difference to whether a text matches.
  Status quantifier(uint32_t begin, bool repeats) {
    uint32_t least = 0;
    uint32_t most = kNoLimit;
    if (take("*")) {
      least = 0;
    } else if (take("+")) {
      least = 1;
    } else if (take("?")) {
      most = 1;
    } else if (take("{")) {
      if (!number(least)) return wrong("a number is missing");
      most = least;
      if (take(",") && !number(most)) most = kNoLimit;
      if (!take("}")) return wrong("a { without its }");
      if (least > kMostRepeats || (most != kNoLimit && most > kMostRepeats)) return wrong("more than 1000 repeats");
      if (most < least) return wrong("a range the wrong way round");
    } else {
      return {};
    }
    if (!repeats) return wrong("nothing to repeat");
    (void)take("?");
    return repeat(begin, least, most);
  }

  Status repeat(uint32_t begin, uint32_t least, uint32_t most) {
    const std::vector<Instruction> body(made_.program_.begin() + begin, made_.program_.end());
    const uint64_t copies = most == kNoLimit ? uint64_t{least} + 1 : most;
    if (begin + copies * (body.size() + 2) > LookaheadPattern::kMostInstructions) return wrong("the pattern is too large");
    made_.program_.resize(begin);
    const auto append = [&] {
      const uint32_t by = here() - begin;
      for (Instruction instruction : body) {
        if (by > 0) move(instruction, begin, by);
        made_.program_.push_back(instruction);
      }
    };
    for (uint32_t i = 0; i < least; ++i) append();
    if (most == kNoLimit) {
      const uint32_t split = here();
      add(Act::kSplit, split + 1);
      append();
      add(Act::kJump, split);
      made_.program_[split].other = here();
      return {};
    }
    std::vector<uint32_t> splits;
    for (uint32_t i = least; i < most; ++i) {
      splits.push_back(here());
      add(Act::kSplit, here() + 1);
      append();
    }
    for (const uint32_t split : splits) made_.program_[split].other = here();
    return {};
  }

  static constexpr std::array<std::pair<std::string_view, Act>, 4> kAssertions = {
      {{"^", Act::kBegin}, {"$", Act::kEnd}, {"\\b", Act::kBorder}, {"\\B", Act::kNoBorder}}};

  std::string_view pattern_;
  size_t at_ = 0;
  LookaheadPattern made_;
};

// One run over a text: a search through the states (place in the program, position in the text), each of which is entered once.
class LookaheadMatch {
 public:
  LookaheadMatch(const LookaheadPattern& pattern, std::string_view text) : pattern_(pattern), text_(text) {}

  // Whether kDone is reached from a place at one of the positions from `first` to `last`; `whole`: at the end of the text.
  bool reaches(uint32_t place, size_t first, size_t last, bool whole) {
    std::vector<bool> entered(pattern_.program_.size() * (text_.size() + 1));
    std::vector<State> open;
    const auto enter = [&](uint32_t at, size_t position) {
      const size_t number = at * (text_.size() + 1) + position;
      if (entered[number]) return;
      entered[number] = true;
      open.push_back({at, position});
    };
    for (size_t position = first; position <= last; ++position) enter(place, position);
    while (!open.empty()) {
      const State state = open.back();
      open.pop_back();
      const LookaheadPattern::Instruction& instruction = pattern_.program_[state.place];
      switch (instruction.act) {
        case Act::kDone:
          if (!whole || state.position == text_.size()) return true;
          break;
        case Act::kByte:
          if (state.position < text_.size() && pattern_.sets_[instruction.to].test(code_of(text_[state.position])))
            enter(state.place + 1, state.position + 1);
          break;
        case Act::kSplit:
          enter(instruction.to, state.position);
          enter(instruction.other, state.position);
          break;
        case Act::kJump:
          enter(instruction.to, state.position);
          break;
        default:
          if (holds(state.place, state.position)) enter(behind(state.place), state.position);
      }
    }
    return false;
  }

 private:
  using Act = LookaheadPattern::Act;
  struct State {
    uint32_t place;
    size_t position;
  };

  [[nodiscard]] bool is_look(uint32_t place) const {
    const Act act = pattern_.program_[place].act;
    return act == Act::kLook || act == Act::kLookNot;
  }
  [[nodiscard]] uint32_t behind(uint32_t place) const { return is_look(place) ? pattern_.program_[place].to : place + 1; }

  // Whether an assertion holds at a position.
  bool holds(uint32_t place, size_t position) {
    const Act act = pattern_.program_[place].act;
    if (is_look(place)) return reaches(place + 1, position, position, false) == (act == Act::kLook);
    if (act == Act::kBegin) return position == 0;
    if (act == Act::kEnd) return position == text_.size();
    const bool before = position > 0 && is_word_letter(text_[position - 1]);
    const bool after = position < text_.size() && is_word_letter(text_[position]);
    return (before != after) == (act == Act::kBorder);
  }

  const LookaheadPattern& pattern_;
  std::string_view text_;
};

Result<LookaheadPattern> LookaheadPattern::compile(std::string_view pattern) { return LookaheadCompiler(pattern).compile(); }

bool LookaheadPattern::run(std::string_view text, bool whole) const {
  return LookaheadMatch(*this, text).reaches(0, 0, whole ? 0 : text.size(), whole);
}

}  // namespace tensortap
