#include "tree/asynchronous_tree.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "layout/layout_option.h"
#include "tree/folder_names.h"
#include "tree/manifests.h"

namespace tensortap {
namespace {

constexpr std::array<std::string_view, 5> kFormWords = {"acl", "ge", "step", "ops", "rank"};

// The file's name without what stands behind its last dot.
std::string stem_of(const std::string& path) {
  const std::string name = file_name(path);
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

}  // namespace

std::string_view tree_form_word(TreeForm form) { return kFormWords[static_cast<size_t>(form)]; }

Result<TreeForm> parse_tree_form(std::string_view text, std::span<const TreeForm> forms) {
  const auto found = std::ranges::find(forms, text, tree_form_word);
  if (found != forms.end()) return *found;
  std::vector<std::string_view> words;
  for (const TreeForm form : forms) words.push_back(tree_form_word(form));
  return check_option_word(text, words);
}

Status check_net_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (!name.empty() && name.size() <= kLongestFileName && std::ranges::all_of(name, allowed)) return {};
  return invalid_argument(concat(quote(name), " must be ", kNetNameValues));
}

std::string time_folder_name() {
  constexpr size_t kDigits = 14;
  return wall_clock_digits(wall_clock_us()).substr(0, kDigits);
}

std::string AsynchronousTree::step_folder(int64_t step, bool lone) const {
  const std::string here = concat(time, "/", device);
  switch (form) {
    case TreeForm::kRank:
      return concat(net, "/", step);
    case TreeForm::kOps:
      return concat(step, "/", here);
    case TreeForm::kStep:
      return concat(step, "/", here, "/", model, "/", step);
    case TreeForm::kAcl:
      if (lone) return here;
      break;
    case TreeForm::kGe:
      break;
  }
  return concat(here, "/", model, "/", step);
}

ManifestPlace AsynchronousTree::manifest_place(std::string_view name) const {
  if (form == TreeForm::kAcl || form == TreeForm::kGe) return {concat(time, "/", kManifestFolder), concat(device, ".", name, ".json")};
  return manifest_above_times(name);
}

ManifestPlace AsynchronousTree::manifest_above_times(std::string_view name) const {
  return {std::string(kManifestFolder), concat(time, ".", device, ".", name, ".json")};
}

AsynchronousTree asynchronous_tree(const DumpInfo& info, TreeForm form, std::string_view model, std::string_view net) {
  AsynchronousTree tree;
  tree.form = form;
  tree.time = is_time_folder(info.timestamp) ? info.timestamp : time_folder_name();
  tree.device = to_text(std::max(info.device, 0) + (info.device == 0 && info.world_size > 1 ? info.rank : 0));
  tree.model = concat(model, "/", std::max(info.model_id, 1U));
  tree.net = concat("rank_", info.rank, "/", net, "/0");
  return tree;
}

std::string model_of(const DumpInfo& info) {
  std::string name = info.model.empty() ? stem_of(info.program) : info.model;
  return name.empty() ? "model" : name;
}

AclRequest::AclRequest(const CaptureSpec& spec) : trigger_(spec.trigger) {
  if (!spec.inputs || !spec.outputs) mode_ = spec.inputs ? "input" : "output";
  for (const OpSelector& selector : spec.include) {
    if (selector.kind == OpSelector::Kind::kName) layers_.push_back(selector.text);
  }
}

Status AclRequest::write(const AsynchronousTree& tree, const Folder& root, int64_t last_step, FolderRules rules) const {
  if (!tree.asks_each_step() || last_step < 0) return {};
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, NamedFolder::create(root, "", rules));
  return folder->replace(concat("acl_dump_", tree.device, ".json"), text(join_path(root.path(), to_text(last_step))));
}

// For the dump in `folder`.
std::string AclRequest::text(std::string_view folder) const {
  nlohmann::json dump = {{"dump_path", folder}, {"dump_mode", mode_}, {"dump_op_switch", "on"}, {"dump_list", nlohmann::json::array()}};
  if (!layers_.empty()) dump["dump_list"].push_back({{"layer", layers_}});
  if (trigger_ == Trigger::kOverflow) dump = {{"dump_path", folder}, {"dump_debug", "on"}};
  if (trigger_ == Trigger::kException) dump = {{"dump_scene", "lite_exception"}};
  return nlohmann::json{{"dump", std::move(dump)}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace tensortap
