#include <array>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "system/tap/ops_file.h"

namespace tensortap::tap {
namespace {

void append_escape(unsigned code, std::string& line) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  line += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) line += kDigits[code >> shift & 15];
}

void append_text(std::string_view text, std::string& line) {
  line += '"';
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const size_t length = utf8_length(text);
    if (length == 0) {
      append_escape(0xdc00U | byte, line);
    } else if (byte == '"' || byte == '\\') {
      line += '\\';
      line += text[0];
    } else if (byte < 0x20 || byte == 0x7f) {
      append_escape(byte, line);
    } else {
      line += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  line += '"';
}

void append_key(std::string_view key, std::string& line) { line += concat(line.empty() ? "{" : ", ", "\"", key, "\": "); }

void append_member(std::string_view key, std::string_view value, std::string& line) {
  append_key(key, line);
  append_text(value, line);
}

void append_id(std::string_view key, OpId id, std::string& line) {
  append_key(key, line);
  line += id == kNoOp ? "null" : to_text(id);
}

void append_inputs(const OpInfo& op, std::string& line) {
  append_key("inputs", line);
  line += '[';
  for (const OpInput& input : op.inputs) {
    if (&input != op.inputs.data()) line += ", ";
    line += "{\"name\": ";
    append_text(input.name, line);
    append_id("op", input.producer, line);
    line += concat(", \"slot\": ", input.producer_slot, "}");
  }
  line += ']';
}

void append_originals(const OpInfo& op, std::string& line) {
  append_key("originals", line);
  line += '[';
  for (const OriginalNode& node : op.originals) {
    line += &node == op.originals.data() ? "{\"name\": " : ", {\"name\": ";
    append_text(node.name, line);
    append_member("type", node.type, line);
    line += '}';
  }
  line += ']';
}

void append_outputs(const OpInfo& op, std::string& line) {
  append_key("outputs", line);
  line += '[';
  for (const std::string& name : op.outputs) {
    if (&name != op.outputs.data()) line += ", ";
    append_text(name, line);
  }
  line += ']';
}

// An object as it is, on one line; any other text as a text.
void append_attributes(const OpInfo& op, std::string& line) {
  append_key("attributes", line);
  const std::string_view text = trim(op.attributes);
  if (text.empty()) {
    line += "null";
  } else if (text.starts_with('{') && Json::accept(text)) {
    for (const char c : text) line += c == '\n' || c == '\r' ? ' ' : c;
  } else {
    append_text(text, line);
  }
}

// Only where the source tells calls apart; the id follows from the parents.
void append_call(const OpInfo& op, std::string& line) {
  if (op.occurrence != 0) {
    append_key("occurrence", line);
    line += concat(op.occurrence);
  }
  if (op.model_phase != ModelPhase::kNone) append_member("model_phase", model_phase_name(op.model_phase), line);
}

}  // namespace

std::string op_line(OpId id, const OpInfo& op) {
  std::string line;
  append_id("id", id, line);
  append_member("name", op.name, line);
  append_member("type", op.type, line);
  append_member("domain", op.domain, line);
  append_member("graph", op.graph, line);
  append_member("module", op.module, line);
  append_member("source", op.source_location, line);
  if (!op.source_text.empty()) append_member("source_text", op.source_text, line);
  append_originals(op, line);
  append_key("inserted", line);
  line += op.inserted_by_runtime ? "true" : "false";
  append_member("level", level_name(op.level), line);
  append_id("parent", op.parent, line);
  append_inputs(op, line);
  append_outputs(op, line);
  append_attributes(op, line);
  append_call(op, line);
  return line + "}\n";
}

}  // namespace tensortap::tap
