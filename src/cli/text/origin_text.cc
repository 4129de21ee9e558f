#include "cli/text/origin_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/json.h"
#include "cli/text/member_text.h"

namespace tensortap::cli {
namespace {

constexpr size_t kMostRead = 3;

std::string step_text(const Json& step) {
  std::string text = fmt::format("step {}, {} ({})", member_text(step, "step"), member_text(step, "op"), member_text(step, "type"));
  if (const std::string module = member_text(step, "module"); !module.empty()) text += fmt::format(", module {}", module);
  if (const std::string source = member_text(step, "source"); !source.empty()) text += fmt::format(", {}", source);
  return text;
}

// Where the way back ends at what an op read, no captured op made it.
std::string made_text(const Json& begin) {
  const bool was_read = member_text(begin, "slot").starts_with("in");
  return fmt::format("{} {} in {}", was_read ? "was given" : "made", counts_text(begin), member_text(begin, "record"));
}

// ", net.py:9" of an op that the program's text names.
std::string source_text(const Json& op) {
  const std::string source = member_text(op, "source");
  return source.empty() ? "" : ", " + source;
}

std::string seen_text(const std::string& reached) {
  if (reached == "host") return "read by the program";
  if (reached == "loss") return "the loss of a backward pass";
  if (reached == "failure") return "read by the op that failed";
  if (reached == "parameter") return "written into a parameter";
  return "seen";
}

std::string index_text(const Json& one) {
  const Json index = one.value("index", Json());
  return index.is_array() && !index.empty() ? fmt::format(", the first at {}", index.dump()) : "";
}

std::string_view kind_text(std::string_view kind) {
  if (kind == "op") return "made by an op";
  if (kind == "graph input") return "given as an input";
  if (kind == "weight") return "held by a weight";
  if (kind == "intended") return "made on purpose, as masks are";
  if (kind == "uninitialised memory") return "read from memory that nothing was written to";
  return "made by something that was not captured";
}

}  // namespace

std::string record_text(const Json& one) { return fmt::format("{} ({})", member_text(one, "record"), member_text(one, "type")); }

std::string place_text(const Json& one) {
  std::string text = member_text(one, "source");
  const auto add = [&text](const std::string& word, const std::string& value) {
    if (!value.empty()) text += fmt::format("{}{}{}", text.empty() ? "" : ", ", word, value);
  };
  add("module ", member_text(one, "module"));
  if (const Json forward = one.value("forward", Json()); forward.is_object()) {
    add("backward of ", member_text(forward, "op"));
    add("module ", member_text(forward, "module"));
    add("line ", member_text(forward, "source"));
  }
  return text;
}

std::string counts_text(const Json& one) {
  std::string text;
  for (const auto& [key, word] : {std::pair{"nan", "NaN"}, {"pos_inf", "+Inf"}, {"neg_inf", "-Inf"}}) {
    const std::string count = member_text(one, key);
    if (!count.empty() && count != "0") text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
  }
  return text;
}

std::string read_text(const Json& input) {
  const std::string record = member_text(input, "record");
  if (input.value("unwritten", false)) return fmt::format("read {}: uninitialised memory", record);
  const std::string min = member_text(input, "min");
  const std::string max = member_text(input, "max");
  if (min.empty() && max.empty()) return fmt::format("read {}: its values were not kept", record);
  return fmt::format("read {}: min {}, max {}", record, min, max);
}

std::string overflow_text(const Json& origin) {
  const std::string dtype = member_text(origin, "overflow");
  if (dtype.empty()) return {};
  std::string text = fmt::format("overflowed in {}", dtype);
  const Json* by = member(origin, "swallowed_by");
  if (by == nullptr) return text;
  const std::string made = count_in(*by, "zero") > 0 ? "turned it into 0" : "made finite numbers of it";
  return text + fmt::format(", and {} ({}{}) {}", member_text(*by, "op"), member_text(*by, "type"), source_text(*by), made);
}

std::vector<std::string> origin_lines(const Json& origin) {
  const Json& chain = origin.at("chain");
  const Json& begin = chain.back();
  std::vector<std::string> lines;
  const std::string kind = member_text(origin, "kind");
  if (kind == "uninitialised memory") lines.emplace_back("it worked on memory that nothing was written to");
  if (kind != "op" && kind != "uninitialised memory") lines.emplace_back(kind_text(kind));
  if (!origin.value("certain", false)) lines.emplace_back("as far as was captured");
  if (const std::string overflow = overflow_text(origin); !overflow.empty()) lines.push_back("it " + overflow);
  const Json inputs = begin.value("inputs", Json::array());
  for (size_t i = 0; i < std::min(inputs.size(), kMostRead); ++i) lines.push_back(read_text(inputs[i]));
  if (inputs.size() > kMostRead) lines.push_back(fmt::format("and {} more inputs", inputs.size() - kMostRead));
  if (chain.size() > 1 && member(origin, "swallowed_by") == nullptr) {
    lines.push_back(fmt::format("{} {} later, {}", seen_text(member_text(origin, "reached")), counted(chain.size() - 1, "op"),
                                step_text(chain.front())));
  }
  return lines;
}

std::string origin_text(const Json& summary, const Palette& palette) {
  const Json* origin = member(summary, "origin");
  const Json* chain = origin == nullptr ? nullptr : member(*origin, "chain");
  if (chain == nullptr || !chain->is_array() || chain->empty()) return {};
  const Json& begin = chain->back();
  std::string text = palette.red(step_text(begin)) + "\n" + made_text(begin);
  for (const std::string& line : origin_lines(*origin)) text += "\n" + line;
  return text;
}

std::string unwritten_text(const Json& one) {
  return fmt::format("{} ({}{}) read memory that nothing was written to: step {}, {}{}", member_text(one, "op"), member_text(one, "type"),
                     source_text(one), member_text(one, "step"), member_text(one, "slot"),
                     one.value("partly", false) ? ", some of its elements" : "");
}

void print_origin(Terminal& terminal, const Json& origin) {
  const Json& chain = origin.at("chain");
  const std::string certain = origin.value("certain", false) ? "" : ", as far as was captured";
  terminal.line(fmt::format("  {}{}", kind_text(member_text(origin, "kind")), certain));
  if (const std::string overflow = overflow_text(origin); !overflow.empty()) terminal.line("  " + overflow);
  for (auto step = chain.rbegin(); step != chain.rend(); ++step) {
    terminal.line(
        fmt::format("    step {}, {}: {}{}", member_text(*step, "step"), record_text(*step), counts_text(*step), index_text(*step)));
    if (const std::string place = place_text(*step); !place.empty()) terminal.line("      " + place);
    for (const Json& input : step->value("inputs", Json::array())) {
      terminal.line("      " + read_text(input));
    }
    for (const Json& missing : step->value("missing", Json::array())) {
      terminal.line(fmt::format("      not captured: {}", printable(missing.get<std::string>())));
    }
  }
}

}  // namespace tensortap::cli
