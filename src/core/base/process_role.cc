#include "base/process_role.h"

#include <unistd.h>

#include <algorithm>

#include "base/json_members.h"
#include "base/process.h"
#include "base/text.h"

namespace tensortap {

Json process_json(const std::string& name, const std::string& command) {
  const std::string now = command_line_of(0);
  Json json = {{"pid", ::getpid()}, {"parent", ::getppid()}, {"name", text_or_null(name)}, {"command", text_or_null(command)}};
  json["title"] = now == command ? Json(nullptr) : text_or_null(now);
  return json;
}

Json process_of_session(std::string_view text) {
  const Result<Json> session = parse_json(text, "session.json");
  return session.ok() ? member_or_null(*session, "process") : Json(nullptr);
}

namespace {

constexpr size_t kMostOfCommand = 60;

// "python train.py --epochs 3" of a command line: paths without their folders, and cut where it is long.
std::string short_command(const std::string& command) {
  std::string words;
  for (std::string_view word : split(command, ' ')) {
    if (word.starts_with('/') && word.size() > 1) word = word.substr(word.find_last_of('/', word.size() - 2) + 1);
    words += concat(words.empty() ? "" : " ", word);
  }
  if (words.size() <= kMostOfCommand) return words;
  size_t kept = kMostOfCommand;
  // Not inside of a character.
  while (kept > 0 && (static_cast<unsigned char>(words[kept]) & 0xC0U) == 0x80U) --kept;
  return words.substr(0, kept) + "...";
}

}  // namespace

std::string process_role(const Json& process) {
  const auto text_of = [&process](const char* key) {
    const Json* value = member(process, key);
    return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
  };
  const std::string name = text_of("name");
  const std::string title = text_of("title");
  if (!name.empty() && !title.empty()) return concat(name, ", ", title);
  if (!name.empty()) return name;
  return title.empty() ? short_command(text_of("command")) : title;
}

}  // namespace tensortap
