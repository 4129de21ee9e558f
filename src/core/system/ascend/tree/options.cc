#include "system/ascend/tree/options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "layout/layout_option.h"
#include "system/ascend/tree/file_names.h"

namespace tensortap::ascend {
namespace {

constexpr std::array<std::string_view, 4> kTreeScenes = {"model", "overflow", "exception", "watcher"};
constexpr std::array<std::string_view, 2> kWeights = {"files", "none"};
constexpr std::array<std::string_view, 2> kFlags = {"true", "false"};
constexpr std::array<TreeForm, 5> kForms = {TreeForm::kAcl, TreeForm::kGe, TreeForm::kStep, TreeForm::kOps, TreeForm::kRank};

Status check_flag(std::string_view value) { return check_option_word(value, kFlags); }

Result<TreeScene> read_scene(const CaptureSpec& spec) {
  const std::string text = layout_option(spec, "scene");
  if (!text.empty()) {
    if (const Status status = check_option_word(text, kTreeScenes); !status.ok()) return status.with_context("scene");
    return static_cast<TreeScene>(std::ranges::find(kTreeScenes, text) - kTreeScenes.begin());
  }
  switch (spec.trigger) {
    case Trigger::kOverflow:
      return TreeScene::kOverflow;
    case Trigger::kException:
      return TreeScene::kException;
    case Trigger::kWatch:
      return TreeScene::kWatcher;
    default:
      return TreeScene::kModel;
  }
}

std::string model_name(const DumpInfo& info, bool portable) {
  const std::string name = model_of(info);
  return portable ? portable_name(name) : clean_name(name);
}

Result<bool> read_flag(const CaptureSpec& spec, const std::string& name) {
  const std::string text = layout_option(spec, name);
  if (text.empty() || text == "false") return false;
  if (text == "true") return true;
  return invalid_argument(concat("layout_options.", name, ": ", quote(text), " is neither true nor false"));
}

}  // namespace

const LayoutOption kLayoutOptions[7] = {
    {"scene", "model, overflow, exception or watcher", "", "The scene that names the folders and files; without it, \"trigger\" decides.",
     [](std::string_view value) { return check_option_word(value, kTreeScenes); }},
    {"portable_names", "true or false", "false", "Names of files have letters, digits, _ and - only, as the vendor's tools want.",
     check_flag},
    {"stats_columns", "names of columns, such as Max,L2norm", "Max,Min,Avg,Nan,Negative Inf,Positive Inf",
     "The statistics of each row, separated by commas.",
     [](std::string_view value) { return StatisticTable::create(std::string(value)).status(); }},
    {"weights", "files or none", "files", "Whether weights get separate files; the real system writes none.",
     [](std::string_view value) { return check_option_word(value, kWeights); }},
    {"tree_form", "acl, ge, step, ops or rank", "acl", "Which folders there are: those of AscendCL, or of a MindSpore release.",
     [](std::string_view value) { return parse_tree_form(value, kForms).status(); }},
    {"scoped_names", "true or false", "false", "Ops have the names that MindSpore gives them, such as Default/conv1/Conv-op0.", check_flag},
    {"net_name", kNetNameValues, "Net", "The folder of the net where tree_form is rank.", check_net_name},
};

Result<Options> writer_options(const DumpInfo& info, const CaptureSpec& spec) {
  Options options;
  options.tensors = spec.payload == Payload::kTensor || spec.payload == Payload::kFull;
  options.statistics = spec.payload == Payload::kStatistics || spec.payload == Payload::kFull;
  TENSORTAP_ASSIGN_OR_RETURN(options.scene, read_scene(spec));
  if (!options.tensors && !options.statistics) {
    return invalid_argument("the layout ge has no place for descriptions; keep tensors, statistics or both");
  }
  TENSORTAP_ASSIGN_OR_RETURN(options.root, Folder::hold(info.folder));
  options.model_number = std::max(info.model_id, 1U);
  TENSORTAP_ASSIGN_OR_RETURN(options.portable_names, read_flag(spec, "portable_names"));
  TENSORTAP_ASSIGN_OR_RETURN(options.scoped_names, read_flag(spec, "scoped_names"));
  const std::string net = layout_option(spec, "net_name", "Net");
  if (const Status status = check_net_name(net); !status.ok()) return status.with_context("net_name");
  const Result<TreeForm> form = parse_tree_form(layout_option(spec, "tree_form", "acl"), kForms);
  if (!form.ok()) return form.status().with_context("tree_form");
  const std::string model = model_name(info, options.portable_names);
  options.tree = asynchronous_tree(info, *form, model, net);
  options.request = AclRequest(spec);
  options.manifest = options.tree.manifest_place(concat(model.substr(0, 200), ".", options.model_number));
  options.weights = layout_option(spec, "weights") != kWeights[1];
  options.brief_exceptions = spec.exception_detail == ExceptionDetail::kBrief;
  options.only_with_records = spec.trigger != Trigger::kAlways || !spec.where.empty();
  options.access = spec.access;
  options.max_bytes = spec.limits.max_bytes;
  options.time_us = info.time_us;
  options.failure = info.failure;
  options.first_step = std::max<int64_t>({spec.steps.first(), spec.first_step, 0});
  return options;
}

Result<StatisticTable> chosen_statistics(const CaptureSpec& spec) { return StatisticTable::create(layout_option(spec, "stats_columns")); }

}  // namespace tensortap::ascend
