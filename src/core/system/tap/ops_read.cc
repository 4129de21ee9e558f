#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "system/tap/ops_file.h"

namespace tensortap::tap {
namespace {

constexpr int kMaxDepth = 64;
constexpr uint64_t kMostGaps = 65536;  // ids without a line, in a whole file
constexpr size_t kMostProblems = 20;

// Reads JSON values one after the other, without a tree: a hundred thousand ops open in a fraction of a second.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {}

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c || c == '\0') return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    peek();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  bool string(std::string& value) {
    value.clear();
    if (!take('"')) return false;
    while (at_ < text_.size() && text_[at_] != '"') {
      const size_t end = std::min(text_.find_first_of("\"\\", at_), text_.size());
      value += text_.substr(at_, end - at_);
      at_ = end;
      if (at_ < text_.size() && text_[at_] == '\\' && !escape(value)) return false;
    }
    return take('"');
  }

  bool number(uint64_t& value) {
    peek();
    const size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
    if (!parse_unsigned(text_.substr(at_, end - at_), value)) return false;
    at_ = end;
    return true;
  }

  // `null` is kNoOp.
  bool id(OpId& value) {
    uint64_t parsed = kNoOp;
    if (!take_word("null") && (!number(parsed) || parsed >= kNoOp)) return false;
    value = static_cast<OpId>(parsed);
    return true;
  }

  bool boolean(bool& value) {
    value = take_word("true");
    return value || take_word("false");
  }

  // Steps over any value; `text` is what was stepped over.
  bool skip(std::string_view& text) {
    peek();
    const size_t begin = at_;
    int depth = 0;
    do {
      const char c = peek();
      if (c == '"') {
        std::string ignored;
        if (!string(ignored)) return false;
      } else if (c == '{' || c == '[') {
        ++at_;
        if (++depth > kMaxDepth) return false;
      } else if (c == '}' || c == ']') {
        ++at_;
        if (--depth < 0) return false;
      } else if (c == ',' || c == ':') {
        if (depth == 0) return false;
        ++at_;
      } else {
        const size_t end = std::min(text_.find_first_of(",:]}[{\" ", at_), text_.size());
        if (end == at_) return false;
        at_ = end;
      }
    } while (depth > 0);
    text = text_.substr(begin, at_ - begin);
    return true;
  }

  // `member(key)` reads the value of each member of an object; `item()` each item of a list.
  template <class Member>
  bool object(Member member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    std::string key;
    do {
      if (!string(key) || !take(':') || !member(std::string_view(key))) return false;
    } while (take(','));
    return take('}');
  }
  template <class Item>
  bool list(Item item) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!item()) return false;
    } while (take(','));
    return take(']');
  }

 private:
  bool hexadecimal(uint32_t& code) {
    if (text_.size() - at_ < 4) return false;
    code = 0;
    for (const char c : text_.substr(at_, 4)) {
      const size_t digit = std::string_view("0123456789abcdef").find(to_lower(std::string_view(&c, 1))[0]);
      if (digit == std::string_view::npos) return false;
      code = code << 4 | static_cast<uint32_t>(digit);
    }
    at_ += 4;
    return true;
  }

  bool unicode(std::string& value) {
    uint32_t code = 0;
    if (!hexadecimal(code)) return false;
    if (code >= 0xdc80 && code <= 0xdcff) {
      value += static_cast<char>(code & 0xff);  // a byte that was not UTF-8
      return true;
    }
    if (code >= 0xd800 && code <= 0xdbff && text_.substr(at_).starts_with("\\u")) {
      uint32_t low = 0;
      at_ += 2;
      if (!hexadecimal(low) || low < 0xdc00 || low > 0xdfff) return false;
      code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
    }
    append_utf8(code, value);
    return true;
  }

  bool escape(std::string& value) {
    if (at_ + 1 >= text_.size()) return false;
    const char c = text_[at_ + 1];
    at_ += 2;
    if (c == 'u') return unicode(value);
    const size_t known = std::string_view("\"\\/bfnrt").find(c);
    if (known == std::string_view::npos) return false;
    value += "\"\\/\b\f\n\r\t"[known];
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

bool read_level(LineReader& reader, OpInfo& op) {
  std::string name;
  if (!reader.string(name)) return false;
  for (const Level level : {Level::kOp, Level::kKernel, Level::kModule, Level::kModel, Level::kApi}) {
    if (level_name(level) == name) op.level = level;
  }
  return true;
}

bool read_model_phase(LineReader& reader, OpInfo& op) {
  std::string name;
  if (!reader.string(name)) return false;
  for (const ModelPhase phase : {ModelPhase::kPrefill, ModelPhase::kDecode, ModelPhase::kTrain, ModelPhase::kWarmUp}) {
    if (model_phase_name(phase) == name) op.model_phase = phase;
  }
  return true;
}

bool read_occurrence(LineReader& reader, OpInfo& op) {
  uint64_t occurrence = 0;
  if (!reader.number(occurrence) || occurrence > UINT32_MAX) return false;
  op.occurrence = static_cast<uint32_t>(occurrence);
  return true;
}

bool read_input(LineReader& reader, OpInfo& op) {
  OpInput& input = op.inputs.emplace_back();
  return reader.object([&](std::string_view key) {
    std::string_view ignored;
    uint64_t slot = 0;
    if (key == "name") return reader.string(input.name);
    if (key == "op") return reader.id(input.producer);
    if (key != "slot") return reader.skip(ignored);
    if (!reader.number(slot) || slot > UINT32_MAX) return false;
    input.producer_slot = static_cast<uint32_t>(slot);
    return true;
  });
}

bool read_original(LineReader& reader, OpInfo& op) {
  OriginalNode& node = op.originals.emplace_back();
  return reader.object([&](std::string_view key) {
    std::string_view ignored;
    if (key == "name") return reader.string(node.name);
    if (key == "type") return reader.string(node.type);
    return reader.skip(ignored);
  });
}

bool read_attributes(LineReader& reader, OpInfo& op) {
  if (reader.take_word("null")) return true;
  if (reader.peek() == '"') return reader.string(op.attributes);
  std::string_view text;
  if (!reader.skip(text)) return false;
  op.attributes = text;
  return true;
}

bool read_member(LineReader& reader, std::string_view key, OpId& id, OpInfo& op) {
  std::string_view ignored;
  if (key == "id") return reader.id(id);
  if (key == "name") return reader.string(op.name);
  if (key == "type") return reader.string(op.type);
  if (key == "domain") return reader.string(op.domain);
  if (key == "graph") return reader.string(op.graph);
  if (key == "module") return reader.string(op.module);
  if (key == "source") return reader.string(op.source_location);
  if (key == "source_text") return reader.string(op.source_text);
  if (key == "inserted") return reader.boolean(op.inserted_by_runtime);
  if (key == "level") return read_level(reader, op);
  if (key == "parent") return reader.id(op.parent);
  if (key == "occurrence") return read_occurrence(reader, op);
  if (key == "model_phase") return read_model_phase(reader, op);
  if (key == "attributes") return read_attributes(reader, op);
  if (key == "inputs") return reader.list([&] { return read_input(reader, op); });
  if (key == "originals") return reader.list([&] { return read_original(reader, op); });
  if (key == "outputs") return reader.list([&] { return reader.string(op.outputs.emplace_back()); });
  return reader.skip(ignored);
}

}  // namespace

Status parse_op_line(std::string_view line, OpId& id, OpInfo& op) {
  id = kNoOp;
  op = OpInfo();
  LineReader reader(line);
  const bool whole = reader.object([&](std::string_view key) { return read_member(reader, key, id, op); }) && reader.peek() == '\0';
  if (!whole || id == kNoOp) return corrupt("not an op as docs/layouts/tap.md has it");
  const bool has_attributes = !op.attributes.empty() && op.attributes != "{}";
  if (has_attributes && !(op.attributes.starts_with('{') && Json::accept(op.attributes)))
    return corrupt("attributes that are no JSON object");
  return {};
}

std::vector<OpInfo> parse_ops(std::string_view text, std::vector<std::string>& problems) {
  std::vector<OpInfo> ops;
  ops.reserve(static_cast<size_t>(std::ranges::count(text, '\n')));
  uint64_t gaps = 0;
  uint64_t damaged = 0;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    OpId id = kNoOp;
    OpInfo op;
    const bool read = parse_op_line(line, id, op).ok();
    if (!read || id < ops.size() || (gaps += id - ops.size()) > kMostGaps) {
      if (++damaged <= kMostProblems) problems.push_back(concat("ops.jsonl:", number, ": the line is damaged and was skipped"));
      continue;
    }
    ops.resize(id);
    ops.push_back(std::move(op));
  }
  if (damaged > kMostProblems) problems.push_back(concat("ops.jsonl: ", damaged, " damaged lines in all"));
  return ops;
}

}  // namespace tensortap::tap
