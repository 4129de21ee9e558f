// Regular expressions that look ahead, (?=...) and (?!...), which RE2 does not: ECMAScript's syntax, without back-references.

#ifndef TENSORTAP_PATTERN_LOOKAHEAD_PATTERN_H_
#define TENSORTAP_PATTERN_LOOKAHEAD_PATTERN_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap {

// Says whether a text matches, not where. The time is bounded by the sizes of pattern and text, whatever the pattern: no state is looked at
// twice. Characters are bytes. Immutable, thread-safe.
class LookaheadPattern {
 public:
  static constexpr size_t kMostInstructions = 4096;  // what a pattern may be compiled to
  static constexpr size_t kLongestText = 4096;       // longer ones never match
  static constexpr int kDeepest = 64;                // groups inside of groups

  // Syntax: literals, `.`, classes with ranges, \d \w \s \b \B \D \W \S and escaped signs, ^ $, groups, |, quantifiers, lazy ones too, and
  // look-ahead. Errors: kInvalidArgument with the column for anything else, and for a pattern that is too large.
  static Result<LookaheadPattern> compile(std::string_view pattern);

  // Whether the whole text matches, or a part of it.
  [[nodiscard]] bool matches(std::string_view text) const { return text.size() <= kLongestText && run(text, true); }
  [[nodiscard]] bool is_in(std::string_view text) const { return text.size() <= kLongestText && run(text, false); }

 private:
  friend class LookaheadCompiler;
  friend class LookaheadMatch;
  enum class Act : uint8_t { kByte, kSplit, kJump, kLook, kLookNot, kBegin, kEnd, kBorder, kNoBorder, kDone };
  struct Instruction {
    Act act = Act::kDone;
    uint32_t to = 0;     // kByte: number of the set; kSplit, kJump: a place; kLook, kLookNot: the place behind what is looked for
    uint32_t other = 0;  // kSplit: the second place
  };
  using Bytes = std::bitset<256>;

  [[nodiscard]] bool run(std::string_view text, bool whole) const;

  std::vector<Instruction> program_;
  std::vector<Bytes> sets_;
};

}  // namespace tensortap

#endif  // TENSORTAP_PATTERN_LOOKAHEAD_PATTERN_H_
