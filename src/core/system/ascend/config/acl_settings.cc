#include "system/ascend/config/acl_settings.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/environment.h"
#include "base/json.h"
#include "base/text.h"
#include "plan/spec_reader.h"
#include "system/ascend/config/dump_path.h"
#include "system/ascend/config/errors.h"
#include "system/ascend/config/members.h"
#include "system/ascend/config/steps.h"
#include "system/ascend/statistics.h"

namespace tensortap::ascend {
namespace {

constexpr size_t kMostBytes = size_t{10} << 20;
constexpr int kMostOpen = 10;
constexpr size_t kMostNotes = 20;

constexpr std::array<std::string_view, 3> kModes = {"input", "output", "all"};
constexpr std::array<std::string_view, 3> kLevels = {"op", "kernel", "all"};
constexpr std::array<std::string_view, 2> kSwitch = {"off", "on"};
constexpr std::array<std::string_view, 2> kData = {"tensor", "stats"};
constexpr std::array<std::string_view, 5> kScenes = {"lite_exception", "aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump",
                                                     "watcher"};
constexpr std::array<std::string_view, 5> kKernelData = {"all", "printf", "tensor", "assert", "timestamp"};

// How the value of a key is made.
enum class Form : uint8_t { kText, kWord, kWords, kWordList, kItems };

struct KeyRow {
  ConfigKey key;
  Form form;
  std::span<const std::string_view> words;
};

constexpr std::array kRows = {
    KeyRow{{"dump", "dump_path", "text", "an existing folder, at most 512 characters", "",
            "Where the dump goes; every config needs it but one with the `dump_scene` of an exception."},
           Form::kText,
           {}},
    KeyRow{{"dump", "dump_mode", "text", "\"input\", \"output\", \"all\"", "\"output\"",
            "Whether inputs or outputs of an op are kept, or both."},
           Form::kWord,
           kModes},
    KeyRow{{"dump", "dump_level", "text", "\"op\", \"kernel\", \"all\"", "\"all\"",
            "What is kept: ops of the model, the kernels that they call underneath, or both."},
           Form::kWord,
           kLevels},
    KeyRow{{"dump", "dump_op_switch", "text", "\"on\", \"off\"", "\"off\"",
            "Whether ops that are called by themselves, outside every model, are kept."},
           Form::kWord,
           kSwitch},
    KeyRow{
        {"dump", "dump_data", "text", "\"tensor\", \"stats\"", "\"tensor\"", "What is kept of a tensor: its data, or a row of statistics."},
        Form::kWord,
        kData},
    KeyRow{{"dump", "dump_stats", "list of texts", "below", "the first six", "The statistics; with `dump_data` \"stats\" only."},
           Form::kWordList,
           kStatisticWords},
    KeyRow{{"dump", "dump_debug", "text", "\"on\", \"off\"", "\"off\"",
            "Overflow dump: only ops are kept that make NaN or Inf out of finite inputs, with inputs and outputs."},
           Form::kWord,
           kSwitch},
    KeyRow{{"dump", "dump_scene", "text", "below", "", "Exception dump, which keeps what a failing op read, or watcher."},
           Form::kWord,
           kScenes},
    KeyRow{{"dump", "dump_step", "text", "numbers and ranges joined by bars, at most 100", "\"\"",
            "The steps to keep, counted from 0; empty = all."},
           Form::kText,
           {}},
    KeyRow{{"dump", "dump_kernel_data", "text", "\"all\", \"printf\", \"tensor\", \"assert\", \"timestamp\", joined by commas", "",
            "No effect: what kernels of that hardware print."},
           Form::kWords,
           kKernelData},
    KeyRow{{"dump", "dump_list", "list of objects", "below", "", "Which ops of which models are kept."}, Form::kItems, {}},
};

constexpr auto kKeys = [] {
  std::array<ConfigKey, kRows.size()> table{};
  for (size_t i = 0; i < table.size(); ++i) table[i] = kRows[i].key;
  return table;
}();

std::string text_at(Value object, std::string_view key) {
  return has(object, key) ? member(object, key).json().get<std::string>() : std::string();
}
bool is_on(Value dump, std::string_view key) { return text_at(dump, key) == "on"; }

// The number of the word, or of the default.
size_t word_at(Value dump, std::string_view key, std::span<const std::string_view> words, size_t otherwise) {
  const std::string word = text_at(dump, key);
  const auto found = std::ranges::find(words, word);
  return found == words.end() ? otherwise : static_cast<size_t>(found - words.begin());
}

Status check_type(const KeyRow& row, Value value) {
  if (row.form == Form::kItems) return check_item_types(value);
  if (row.form != Form::kWordList) return value.json().is_string() ? Status() : wrong_type(value, "a text");
  if (!value.json().is_array()) return wrong_type(value, "a list of texts");
  for (size_t i = 0; i < value.json().size(); ++i) {
    if (!value.json()[i].is_string()) return wrong_type(value.element(i), "a text");
  }
  return {};
}

Status check_word(const KeyRow& row, Value value, std::string_view word) {
  if (word.empty()) return fault(value, Fault::kItem, concat("is empty; use ", choices_text(row.words)));
  if (std::ranges::find(row.words, word) != row.words.end()) return {};
  const std::vector<std::string> known(row.words.begin(), row.words.end());
  return fault(value, Fault::kWord,
               concat(quote(word.substr(0, 80)), " is not one of ", choices_text(row.words), ".", did_you_mean(word.substr(0, 80), known)));
}

Status check_words(const KeyRow& row, Value value) {
  if (row.form == Form::kWord) return check_word(row, value, value.json().get<std::string>());
  if (row.form == Form::kWords) {
    const auto text = value.json().get<std::string>();
    for (const std::string_view word : split(text, ',')) TENSORTAP_RETURN_IF_ERROR(check_word(row, value, word));
  }
  if (row.form != Form::kWordList) return {};
  for (size_t i = 0; i < value.json().size(); ++i) {
    const auto text = value.json()[i].get<std::string>();
    if (std::ranges::find(row.words, text) == row.words.end()) return check_word(row, value.element(i), text);
  }
  return {};
}

Status check_all_types(Value dump) {
  for (const KeyRow& row : kRows) {
    if (has(dump, row.key.name)) TENSORTAP_RETURN_IF_ERROR(check_type(row, member(dump, row.key.name)));
  }
  return {};
}

Status check_all_words(Value dump) {
  for (const KeyRow& row : kRows) {
    if (has(dump, row.key.name)) TENSORTAP_RETURN_IF_ERROR(check_words(row, member(dump, row.key.name)));
  }
  return {};
}

// Checks keys against each other, in AscendCL's order, and reads the values that need such a check.
class Reader {
 public:
  Reader(Value dump, Settings& settings) : dump_(dump), settings_(settings) {}

  Status read() {
    read_words();
    TENSORTAP_RETURN_IF_ERROR(check_scene());
    if (settings_.is_exception()) {
      // The path is not used, and the system reads a path up to a zero byte.
      settings_.path = text_at(dump_, "dump_path");
      settings_.path.resize(std::min(settings_.path.find('\0'), settings_.path.size()));
      return {};
    }
    TENSORTAP_RETURN_IF_ERROR(read_path());
    TENSORTAP_RETURN_IF_ERROR(check_debug());
    if (settings_.overflow) {
      note_overflow();
      return {};
    }
    TENSORTAP_RETURN_IF_ERROR(read_steps());
    TENSORTAP_RETURN_IF_ERROR(read_list());
    return read_statistics();
  }

 private:
  void read_words() {
    settings_.mode = static_cast<Mode>(word_at(dump_, "dump_mode", kModes, static_cast<size_t>(Mode::kOutput)));
    settings_.level = has(dump_, "dump_level") ? static_cast<DumpLevel>(word_at(dump_, "dump_level", kLevels, 0) + 1) : DumpLevel::kDefault;
    settings_.single_ops = is_on(dump_, "dump_op_switch");
    settings_.statistics = text_at(dump_, "dump_data") == kData[1];
    settings_.columns.assign(kStatisticWords.begin(), kStatisticWords.begin() + kDefaultWords);
    settings_.overflow = is_on(dump_, "dump_debug");
    if (has(dump_, "dump_scene")) settings_.scene = static_cast<Scene>(word_at(dump_, "dump_scene", kScenes, 0) + 1);
  }

  [[nodiscard]] Status check_scene() const {
    if (settings_.scene == Scene::kNone) return {};
    const std::string scene = quote(text_at(dump_, "dump_scene"));
    for (const std::string_view key : {"dump_debug", "dump_op_switch"}) {
      if (!is_on(dump_, key)) continue;
      return fault(member(dump_, key), Fault::kConflict,
                   concat("\"on\" contradicts \"dump_scene\": ", scene, "; leave one of the two out"));
    }
    if (settings_.scene != Scene::kWatcher || settings_.mode == Mode::kOutput) return {};
    return fault(
        member(dump_, "dump_mode"), Fault::kConflict,
        concat(quote(text_at(dump_, "dump_mode")), " contradicts \"dump_scene\": \"watcher\", which watches outputs; use \"output\""));
  }

  Status read_path() {
    settings_.path = text_at(dump_, "dump_path");
    if (settings_.path.empty()) {
      constexpr std::string_view kWhat = "is missing or empty; give an existing folder";
      if (has(dump_, "dump_path")) return fault(member(dump_, "dump_path"), Fault::kItem, kWhat);
      return fault_without(dump_, "dump_path", Fault::kItem, kWhat);
    }
    DumpPath path = check_dump_path(settings_.path);
    if (!path.problem.empty()) return fault(member(dump_, "dump_path"), Fault::kValue, path.problem);
    if (!path.note.empty()) settings_.notes.push_back(std::move(path.note));
    settings_.out = std::move(path.folder);
    return {};
  }

  [[nodiscard]] Status check_debug() const {
    if (!settings_.overflow || !settings_.single_ops) return {};
    return fault(member(dump_, "dump_op_switch"), Fault::kConflict, R"("on" contradicts "dump_debug": "on"; leave one of the two out)");
  }

  // AscendCL looks at nothing else then, not even at a step that is none.
  void note_overflow() {
    const bool listed = has(dump_, "dump_list") && !member(dump_, "dump_list").json().empty();
    if (listed) settings_.notes.emplace_back("\"dump_debug\": \"on\" looks at every op; \"dump_list\" has no effect, as in AscendCL");
    Steps steps = parse_steps(text_at(dump_, "dump_step"));
    if (steps.problem.empty()) {
      settings_.steps = std::move(steps.steps);
    } else {
      settings_.notes.push_back(
          concat("dump_step: ", steps.problem, "; it has no effect, because \"dump_debug\" is on and AscendCL does not look at it"));
    }
  }

  Status read_steps() {
    Steps steps = parse_steps(text_at(dump_, "dump_step"));
    if (!steps.problem.empty()) return fault(member(dump_, "dump_step"), Fault::kValue, steps.problem);
    settings_.steps = std::move(steps.steps);
    return {};
  }

  Status read_list() {
    if (!has(dump_, "dump_list")) return {};
    const ItemRules rules{settings_.scene == Scene::kWatcher, settings_.single_ops, settings_.level == DumpLevel::kOp};
    TENSORTAP_ASSIGN_OR_RETURN(settings_.items, read_items(member(dump_, "dump_list"), rules));
    return {};
  }

  Status read_statistics() {
    if (!has(dump_, "dump_stats")) return {};
    const SpecValue value = member(dump_, "dump_stats");
    if (value.json().empty()) return fault(value, Fault::kItem, "is empty; list statistics, or leave the key out for the usual six");
    if (!settings_.statistics) return fault(value, Fault::kConflict, R"(needs "dump_data": "stats", which is not the default; add it)");
    const auto asked = value.json().get<std::set<std::string>>();
    settings_.columns.clear();
    for (const std::string_view name : kStatisticWords) {
      if (asked.contains(std::string(name))) settings_.columns.push_back(name);
    }
    return {};
  }

  Value dump_;
  Settings& settings_;
};

class NoteTaker {
 public:
  explicit NoteTaker(Settings& settings) : settings_(settings) {}

  void unknown_keys(Value object, std::span<const std::string_view> known) {
    for (const auto& [key, unused] : object.json().items()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      if (taken_ == kMostNotes) return;
      ++taken_;
      const std::vector<std::string> names(known.begin(), known.end());
      settings_.notes.push_back(
          object.member(key).error(concat("unknown key; ignored, as in AscendCL.", did_you_mean(key.substr(0, 80), names))).message());
    }
  }

  void repeated_keys(const std::vector<std::string>& repeated, std::string_view name) {
    const std::set<std::string> once(repeated.begin(), repeated.end());
    for (const std::string& key : once) {
      if (taken_++ >= kMostNotes) break;
      settings_.notes.push_back(concat(name, ": the key ", quote(key.substr(0, 80)), " occurs twice in an object; the last one counts"));
    }
  }

 private:
  Settings& settings_;
  size_t taken_ = 0;
};

void add_notes(Value dump, NoteTaker& notes, Settings& settings) {
  std::vector<std::string_view> known;
  for (const ConfigKey& key : kKeys) known.push_back(key.name);
  notes.unknown_keys(dump, known);
  if (has(dump, "dump_list")) {
    const SpecValue list = member(dump, "dump_list");
    for (size_t i = 0; i < list.json().size() && i < kMostNotes; ++i) notes.unknown_keys(list.element(i), item_key_names());
  }
  if (has(dump, "dump_kernel_data")) {
    settings.notes.emplace_back("dump_kernel_data: has no effect here, where kernels print nothing");
  }
}

// The environment can ask for an exception dump, and then decides where it goes.
void follow_environment(Settings& settings) {
  std::optional<EnvironmentDump> environment = environment_dump();
  if (environment && !environment->note.empty()) settings.notes.push_back(environment->note);
  const bool asked = environment && !environment->scene.empty();
  if (settings.is_exception() || (asked && !settings.asks())) {
    settings.out = asked ? environment->folder : exception_folder(settings.path);
    if (!asked) return;
    settings.notes.push_back(concat(environment->origin, ": asks for an exception dump, ", quote(environment->scene), " into ",
                                    quote(environment->folder), "; it counts, whatever the config says of that"));
    const auto scene = std::ranges::find(kScenes, environment->scene);
    settings.scene = static_cast<Scene>(scene - kScenes.begin() + 1);
  } else if (asked) {
    settings.notes.push_back(
        concat(environment->origin, ": asks for an exception dump beside the config's; one capture does one of them, the config's"));
  }
}

// A scan of the characters, of texts too.
bool is_nested_too_deep(std::string_view text) {
  int braces = 0;
  int brackets = 0;
  for (const char c : text) {
    if (c == '\0') break;
    if (c == '{' && ++braces > kMostOpen) return true;
    if (c == '[' && ++brackets > kMostOpen) return true;
    if (c == '}') --braces;
    if (c == ']') --brackets;
  }
  return false;
}

Status check_text(std::string_view text, std::string_view name) {
  if (text.size() > kMostBytes) {
    return invalid_argument(
               concat(name, ": has ", text.size(), " bytes; the most of a config are ", kMostBytes, " (AscendCL error ", kInvalidFile, ")"))
        .with_foreign_code(kInvalidFile);
  }
  if (!is_nested_too_deep(text)) return {};
  return invalid_argument(concat(name, ": more than ", kMostOpen,
                                 " brackets of one kind are open at once, those in texts included (AscendCL error ", kParseFile, ")"))
      .with_foreign_code(kParseFile);
}

Status read_root(Value root, NoteTaker& notes, Settings& settings) {
  if (!root.json().is_object() || !has(root, "dump")) return {};
  const SpecValue dump = member(root, "dump");
  if (!dump.json().is_object()) return wrong_type(dump, "an object such as {\"dump_path\": \"dumps\", \"dump_list\": [{}]}");
  if (dump.json().empty()) return {};
  TENSORTAP_RETURN_IF_ERROR(check_all_types(dump));
  TENSORTAP_RETURN_IF_ERROR(check_all_words(dump));
  TENSORTAP_RETURN_IF_ERROR(Reader(dump, settings).read());
  add_notes(dump, notes, settings);
  return {};
}

}  // namespace

std::span<const ConfigKey> keys() { return kKeys; }

Result<Settings> read_settings(std::string_view text, std::string_view name, bool at_start) {
  Settings settings;
  TENSORTAP_RETURN_IF_ERROR(check_text(text, name));
  if (!text.empty()) {
    std::vector<std::string> repeated;
    const Result<Json> json = parse_json(text, name, repeated);
    if (!json.ok()) {
      const int32_t code = at_start ? kParseFile : kInvalidDumpConfig;
      return invalid_argument(concat(json.status().message(), " (EP0004, AscendCL error ", code, ")")).with_foreign_code(code);
    }
    NoteTaker notes(settings);
    notes.repeated_keys(repeated, name);
    TENSORTAP_RETURN_IF_ERROR(read_root(SpecValue(*json, text, name), notes, settings));
  }
  follow_environment(settings);
  return settings;
}

}  // namespace tensortap::ascend
