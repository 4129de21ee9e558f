#include "report/embedded_answers.h"

#include <span>

#include "base/base64.h"
#include "base/json.h"
#include "base/text.h"

namespace tensortap {

std::string script_safe(std::string_view json) {
  // Outside of its strings JSON has no "<", and inside of them an escape means the same.
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

bool EmbeddedAnswers::add(std::string_view target, std::string_view safe) {
  const std::string key = script_safe(to_json_text(Json(target)));
  const size_t bytes = key.size() + safe.size() + 2;
  if (has(target) || this->bytes() + bytes + held_back_ > most_) return false;
  text_ += concat(text_.empty() ? "" : ",", key, ":", safe);
  targets_.emplace(target, Place{text_.size() - safe.size(), safe.size()});
  return true;
}

std::string_view EmbeddedAnswers::find(std::string_view target) const {
  const auto found = targets_.find(std::string(target));
  return found == targets_.end() ? std::string_view() : std::string_view(text_).substr(found->second.begin, found->second.size);
}

bool EmbeddedAnswers::add_json(std::string_view target, std::string_view json) { return add(target, script_safe(json)); }

bool EmbeddedAnswers::add_bytes(std::string_view target, std::string_view bytes) {
  std::string text = "\"";
  append_base64(std::as_bytes(std::span(bytes)), text);
  return add(target, text + "\"");
}

std::string EmbeddedAnswers::text() const { return concat("{", text_, "}"); }

}  // namespace tensortap
