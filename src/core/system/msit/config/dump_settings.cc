#include "system/msit/config/dump_settings.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "system/msit/config/dialect.h"
#include "system/msit/config/rounds.h"

namespace tensortap::msit {
namespace {

constexpr size_t kMostNotes = 20;
constexpr std::array<std::string_view, 2> kYesNo = {"false", "true"};
constexpr std::array<std::string_view, 4> kTimes = {"0", "1", "2", "3"};
constexpr std::array<std::string_view, 3> kParts = {"0", "1", "2"};

bool is_id(std::string_view id) {
  return std::ranges::all_of(split(id, '_'), [](std::string_view part) {
    uint64_t number = 0;
    return parse_unsigned(part, number);
  });
}

// `origin`: worked out once for a list, since finding a place reads the text from its beginning.
OpSelector selector_of(OpSelector::Kind kind, std::string_view text, const std::string& origin) {
  OpSelector selector;
  selector.kind = kind;
  selector.text = std::string(text);
  selector.optional = true;
  selector.origin = origin;
  return selector;
}

// Reads the members one by one.
class Reader {
 public:
  Reader(const SpecValue& config, Settings& settings) : config_(config), settings_(settings) {}

  Status read() {
    note_unknown_keys();
    read_enabled();
    TENSORTAP_RETURN_IF_ERROR(read_ids());
    settings_.children = flag("child", true);
    for (OpSelector& selector : settings_.ids) selector.children = settings_.children;
    TENSORTAP_RETURN_IF_ERROR(read_rounds());
    TENSORTAP_RETURN_IF_ERROR(read_devices());
    read_types();
    TENSORTAP_RETURN_IF_ERROR(read_choice("time", kTimes, settings_.time));
    TENSORTAP_RETURN_IF_ERROR(read_choice("stp", kParts, settings_.slots));
    settings_.description = flag("sd", false);
    settings_.links = flag("symlink", false);
    settings_.tiling = flag("tiling", false);
    TENSORTAP_RETURN_IF_ERROR(read_dump_types());
    const std::string* out = text_of("output");
    if (out == nullptr) return {};
    if (out->find('\0') != std::string::npos) return at("output").error("holds a zero byte, which no path can");
    settings_.out = *out;
    return {};
  }

 private:
  [[nodiscard]] SpecValue at(std::string_view key) const { return config_.member(std::string(key)); }

  void note(const SpecValue& value, std::string_view what) {
    settings_.notes.push_back(concat(value.position(), ": ", value.key().substr(0, kShown), ": ", what));
  }

  // Null when the key is missing or its value is not a text; the latter adds a note.
  const std::string* text_of(std::string_view key) {
    const auto found = config_.json().find(std::string(key));
    if (found == config_.json().end()) return nullptr;
    if (found->is_string()) return found->get_ptr<const std::string*>();
    settings_.notes.push_back(concat(at(key).wrong_type("a text").message(), ", and is passed over; write it in quotes"));
    return nullptr;
  }

  // Only "true" means yes, as in msit.
  bool flag(std::string_view key, bool otherwise) {
    const std::string* text = text_of(key);
    if (text == nullptr) return otherwise;
    if (*text != kYesNo[0] && *text != kYesNo[1])
      note(at(key), concat(quote(text->substr(0, kShown)), " is not \"true\", and so counts as \"false\""));
    return *text == kYesNo[1];
  }

  void note_unknown_keys() {
    std::vector<std::string> known;
    for (const ConfigKey& key : keys()) known.emplace_back(key.name);
    for (const auto& [name, unused] : config_.json().items()) {
      if (settings_.notes.size() == kMostNotes) return;
      if (std::ranges::find(known, name) == known.end())
        note(at(name), concat("unknown key; ignored, as in msit.", did_you_mean(name.substr(0, kShown), known)));
    }
  }

  void read_enabled() {
    settings_.enabled = flag("dump_enable", false);
    if (!config_.json().contains("dump_enable"))
      settings_.notes.push_back(concat(config_.position(), ": without \"dump_enable\": \"true\" nothing is captured"));
  }

  Status read_ids() {
    const std::string* text = text_of("ids");
    if (text == nullptr || text->empty()) return {};
    const std::string origin = at("ids").position();
    for (const std::string_view item : split(*text, ',')) {
      const std::string_view id = trim(item);
      if (!is_id(id))
        return at("ids").error(concat(quote(id.substr(0, kShown)), " is not an id; write numbers joined by _, such as \"2,3_1\""));
      settings_.ids.push_back(selector_of(OpSelector::Kind::kId, id, origin));
    }
    return {};
  }

  void read_types() {
    const std::string* text = text_of("opname");
    if (text == nullptr) return;
    const std::string origin = at("opname").position();
    for (const std::string_view item : split(*text, ',')) {
      if (!item.empty()) settings_.types.push_back(selector_of(OpSelector::Kind::kOperationType, to_lower(item), origin));
    }
  }

  Status read_rounds() {
    const std::string* text = text_of("er");
    Rounds rounds = parse_rounds(text == nullptr ? "0,0" : *text);
    if (!rounds.valid) {
      return at("er").error(concat(quote(text->substr(0, kShown)),
                                   " names no rounds; write pairs of numbers, first and last, such as \"0,0,3,5\", \"all\" or \"none\""));
    }
    if (!rounds.note.empty()) note(at("er"), rounds.note);
    settings_.rounds = std::move(rounds.steps);
    return {};
  }

  Status read_devices() {
    const std::string* text = text_of("device");
    if (text == nullptr || text->empty()) return {};
    for (const std::string_view item : split(*text, ',')) {
      uint64_t device = 0;
      if (!parse_unsigned(trim(item), device))
        return at("device").error(concat(quote(item.substr(0, kShown)), " is no number of a device; write such as \"0,1\""));
      settings_.devices.push_back(device);
    }
    return {};
  }

  Status read_choice(std::string_view key, std::span<const std::string_view> words, size_t& index) {
    return text_of(key) == nullptr ? Status() : at(key).read_choice(words, index);
  }

  Status read_dump_types() {
    const std::string* text = text_of("type");
    if (text == nullptr) {
      settings_.add(DumpType::kTensor);
      settings_.add(DumpType::kModel);
      return {};
    }
    for (const std::string_view item : split(*text, ',')) {
      const auto type = std::ranges::find(kDumpTypes, trim(item));
      if (type == kDumpTypes.end())
        return at("type").error(concat(quote(item.substr(0, kShown)), " is not one of ", choices_text(kDumpTypes)));
      settings_.add(static_cast<DumpType>(type - kDumpTypes.begin()));
    }
    if (settings_.has(DumpType::kOnnx)) {
      settings_.add(DumpType::kModel);
      settings_.add(DumpType::kOp);
    }
    if (!settings_.writes()) note(at("type"), "nothing is written without one of tensor, model, layer, op, kernel, cpu_profiling");
    return {};
  }

  const SpecValue& config_;
  Settings& settings_;
};

}  // namespace

Status read_settings(const SpecValue& config, Settings& settings) { return Reader(config, settings).read(); }

}  // namespace tensortap::msit
