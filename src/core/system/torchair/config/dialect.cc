#include "system/torchair/config/dialect.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "plan/spec_reader.h"
#include "system/torchair/config/dump_step.h"

namespace tensortap::torchair {
namespace {

constexpr std::string_view kSection = "torchair";
constexpr std::array<std::string_view, 3> kModes = {"input", "output", "all"};
constexpr std::array<std::string_view, 2> kData = {"tensor", "stats"};
constexpr size_t kShown = 80;

constexpr std::array kKeys = {
    ConfigKey{kSection, "enable_dump", "true or false", "", "true", "Whether anything is captured."},
    ConfigKey{kSection, "dump_path", "text", "an existing folder", "\"./\"", "Where the dump goes."},
    ConfigKey{kSection, "dump_mode", "text", "\"input\", \"output\", \"all\"", "\"all\"",
              "Whether inputs or outputs of an op are kept, or both."},
    ConfigKey{kSection, "quant_dumpable", "true or false", "", "false",
              "No effect: nothing is fused across quantise nodes here, so their inputs are always available."},
    ConfigKey{kSection, "dump_step", "text", "numbers and ranges joined by bars", "\"\"",
              "The steps to keep, counted from 0; empty = all."},
    ConfigKey{kSection, "dump_layer", "text", "letters, digits, blanks and _ \" / \\ .", "\"\"",
              "Names of the ops to keep, with blanks between them; empty = all, unless `scope` names some."},
    ConfigKey{kSection, "scope", "list of texts", "", "[]", "More names of ops to keep, of any characters."},
    ConfigKey{kSection, "dump_data", "text", "\"tensor\", \"stats\"", "\"tensor\"",
              "What is kept of a tensor: its data, or a row of statistics."},
};

struct Options {
  bool enabled = true;
  bool quant_dumpable = false;
  std::string path = "./";
  size_t mode = kModes.size() - 1;
  size_t data = 0;
  StepSet steps = StepSet::all();
  std::vector<OpSelector> ops;
  std::vector<std::string> notes;
};

void add_op(std::string_view name, const SpecValue& value, std::vector<OpSelector>& ops) {
  OpSelector selector;
  selector.text = std::string(name);
  selector.optional = true;
  selector.origin = value.position();
  ops.push_back(std::move(selector));
}

// Reads the members of "torchair".
class Reader {
 public:
  Reader(const SpecValue& root, Options& options) : root_(root), options_(options) {}

  Status read() {
    TENSORTAP_RETURN_IF_ERROR(check_names());
    if (has("enable_dump")) TENSORTAP_RETURN_IF_ERROR(at("enable_dump").read_bool(options_.enabled));
    if (has("dump_path")) TENSORTAP_RETURN_IF_ERROR(read_path(at("dump_path")));
    if (has("dump_mode")) TENSORTAP_RETURN_IF_ERROR(at("dump_mode").read_choice(kModes, options_.mode));
    if (has("quant_dumpable")) TENSORTAP_RETURN_IF_ERROR(at("quant_dumpable").read_bool(options_.quant_dumpable));
    if (has("dump_step")) TENSORTAP_RETURN_IF_ERROR(read_steps(at("dump_step")));
    if (has("dump_layer")) TENSORTAP_RETURN_IF_ERROR(read_layers(at("dump_layer")));
    if (has("scope")) TENSORTAP_RETURN_IF_ERROR(read_scope(at("scope")));
    if (has("dump_data")) TENSORTAP_RETURN_IF_ERROR(at("dump_data").read_choice(kData, options_.data));
    return {};
  }

 private:
  [[nodiscard]] bool has(std::string_view key) const { return root_.json().contains(std::string(key)); }
  [[nodiscard]] SpecValue at(std::string_view key) const { return root_.member(std::string(key)); }

  [[nodiscard]] Status check_names() const {
    if (!root_.json().is_object()) return root_.wrong_type("an object");
    std::vector<std::string> known;
    for (const ConfigKey& key : kKeys) known.emplace_back(key.name);
    for (const auto& [name, unused] : root_.json().items()) {
      if (std::ranges::find(known, name) == known.end()) {
        return at(name).error(concat("unknown option.", did_you_mean(name.substr(0, kShown), known)));
      }
    }
    return {};
  }

  Status read_path(const SpecValue& value) {
    TENSORTAP_RETURN_IF_ERROR(value.read_text(options_.path));
    if (is_directory(options_.path)) return {};
    return value.error(concat(quote(options_.path.substr(0, kShown)), " is no folder; make it first"));
  }

  Status read_steps(const SpecValue& value) {
    std::string text;
    TENSORTAP_RETURN_IF_ERROR(value.read_text(text));
    Steps steps = parse_steps(text);
    if (!steps.valid) {
      return value.error(
          concat(quote(text.substr(0, kShown)), " names no steps; write numbers and ranges without blanks, such as \"0|3-5|10\""));
    }
    options_.steps = std::move(steps.steps);
    if (!steps.note.empty()) options_.notes.push_back(concat(value.position(), ": dump_step: ", steps.note));
    return {};
  }

  Status read_layers(const SpecValue& value) {
    std::string text;
    TENSORTAP_RETURN_IF_ERROR(value.read_text(text));
    const auto fits = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("_\" /\\.").find(c) != std::string_view::npos;
    };
    const auto wrong = std::ranges::find_if_not(text, fits);
    if (wrong != text.end()) {
      return value.error(concat(quote(text.substr(0, kShown)), " holds ", quote(std::string_view(&*wrong, 1)),
                                ", which TorchAir rejects; write names with it in \"scope\""));
    }
    for (const std::string_view name : split(text, ' ')) {
      if (!name.empty()) add_op(name, value, options_.ops);
    }
    return {};
  }

  Status read_scope(const SpecValue& value) {
    std::vector<std::string> names;
    TENSORTAP_RETURN_IF_ERROR(value.read_texts(names));
    for (size_t i = 0; i < names.size(); ++i) {
      if (!names[i].empty()) add_op(names[i], value.element(i), options_.ops);
    }
    return {};
  }

  const SpecValue& root_;
  Options& options_;
};

CaptureSpec to_spec(Options options) {
  CaptureSpec spec;
  spec.dialect = kSection;
  spec.layout = "ge";
  spec.out = std::move(options.path);
  spec.notes = std::move(options.notes);
  spec.layout_options["scene"] = "model";
  spec.layout_options["weights"] = "none";
  spec.steps = options.enabled ? std::move(options.steps) : StepSet::never();
  spec.include = std::move(options.ops);
  spec.inputs = kModes[options.mode] != "output";
  spec.outputs = kModes[options.mode] != "input";
  spec.payload = kData[options.data] == "stats" ? Payload::kStatistics : Payload::kTensor;
  // The inputs of a graph come with the ops that read them.
  spec.extras.weights = spec.inputs;
  spec.extras.graph_inputs = true;
  spec.extras.read_inputs = true;
  return spec;
}

}  // namespace

std::span<const ConfigKey> keys() { return kKeys; }

bool recognise_config(std::string_view text) {
  const auto keys = json_keys(text);
  return keys && std::ranges::find(*keys, kSection) != keys->end();
}

Result<CaptureSpec> parse_config(std::string_view text, std::string_view name, const DialectOptions& /*options*/) {
  TENSORTAP_ASSIGN_OR_RETURN(const Json json, parse_json(text, name));
  const SpecValue whole(json, text, name);
  if (!json.is_object() || !json.contains(std::string(kSection))) return whole.error("the config has no object \"torchair\"");
  Options options;
  const SpecValue root = whole.member(std::string(kSection));
  TENSORTAP_RETURN_IF_ERROR(Reader(root, options).read());
  return to_spec(std::move(options));
}

std::string full_capture(std::span<const std::string> ops, std::string_view folder) {
  return to_json_text(Json{{kSection, {{"dump_path", folder}, {"dump_mode", "all"}, {"scope", Json(ops)}}}});
}

}  // namespace tensortap::torchair
