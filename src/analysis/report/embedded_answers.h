// EmbeddedAnswers: the server's answers as one JSON object, which a page can hold.

#ifndef TENSORTAP_REPORT_EMBEDDED_ANSWERS_H_
#define TENSORTAP_REPORT_EMBEDDED_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tensortap {

// JSON that is safe inside of a script element, whatever names are in it: no "<" begins an end tag or a comment there.
std::string script_safe(std::string_view json);

// Not thread-safe.
class EmbeddedAnswers {
 public:
  // `most_bytes` is what the object may have at most.
  explicit EmbeddedAnswers(uint64_t most_bytes) : most_(most_bytes) {}

  // `json` is one value. False, with nothing kept, when it does not fit, or there is an answer to this request already.
  bool add_json(std::string_view target, std::string_view json);
  // Bytes, as a string of base64.
  bool add_bytes(std::string_view target, std::string_view bytes);

  // Keeps room for what is added later; 0 gives it back.
  void hold_back(uint64_t bytes) { held_back_ = bytes; }

  [[nodiscard]] bool has(std::string_view target) const { return targets_.contains(std::string(target)); }
  // The answer as it was kept, valid until the next is added; "" when there is none.
  [[nodiscard]] std::string_view find(std::string_view target) const;
  [[nodiscard]] size_t count() const { return targets_.size(); }
  [[nodiscard]] uint64_t bytes() const { return text_.size() + 2; }
  [[nodiscard]] uint64_t most_bytes() const { return most_; }
  // {"/api/dump": ..., ...}
  [[nodiscard]] std::string text() const;

 private:
  struct Place {
    size_t begin;
    size_t size;
  };

  bool add(std::string_view target, std::string_view safe);

  uint64_t most_;
  uint64_t held_back_ = 0;
  std::string text_;
  std::unordered_map<std::string, Place> targets_;  // where in text_ each answer is
};

}  // namespace tensortap

#endif  // TENSORTAP_REPORT_EMBEDDED_ANSWERS_H_
