#include "system/mindspore/tree/writer_options.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "layout/layout_option.h"
#include "system/mindspore/names.h"
#include "system/mindspore/tree/metadata_files.h"

namespace tensortap::mindspore {
namespace {

constexpr std::string_view kSynchronous = "synchronous";
constexpr std::array<TreeForm, 4> kForms = {TreeForm::kGe, TreeForm::kStep, TreeForm::kOps, TreeForm::kRank};

Status check_tree_form(std::string_view text) {
  if (text.empty()) return {};
  std::vector<std::string_view> words = {kSynchronous};
  for (const TreeForm form : kForms) words.push_back(tree_form_word(form));
  return check_option_word(text, words);
}

// Sets the options that only an asynchronous dump has.
Status set_tree(const DumpInfo& info, const CaptureSpec& spec, WriterOptions& options) {
  const std::string text = layout_option(spec, "tree_form", kSynchronous);
  if (const Status status = check_tree_form(text); !status.ok()) return status.with_context("tree_form");
  if (text.empty() || text == kSynchronous) return {};
  TENSORTAP_ASSIGN_OR_RETURN(const TreeForm form, parse_tree_form(text, kForms));
  options.tree = asynchronous_tree(info, form, clean_op_type(model_of(info)), options.net);
  options.model_number = std::max(info.model_id, 1U);
  options.request = AclRequest(spec);
  options.overflow = spec.trigger == Trigger::kOverflow;
  const Extras& extras = spec.extras;
  if (options.has_rank() || (!extras.graphs && !extras.execution_order && !extras.constants)) return {};
  return invalid_argument(concat("the layout mindspore has no graphs, execution_order and constants where tree_form is ", text,
                                 "; leave them out, or take the tree_form rank or synchronous"));
}

}  // namespace

const LayoutOption kLayoutOptions[4] = {
    {"net_name", kNetNameValues, "Net", "The folder below that of the rank.", check_net_name},
    {"statistic_category", "words of MindSpore's statistic_category, separated by commas", "max,min,l2norm",
     "The columns of statistic.csv, where the release lets its users choose them."},
    {"config", "the text of a MindSpore config", "",
     "What .dump_metadata/data_dump.json holds; without it, a config with the same selection."},
    {"tree_form", "synchronous, ge, step, ops or rank", "synchronous",
     "Which folders there are: of a synchronous dump, or of an asynchronous one of some release.", check_tree_form},
};

Result<WriterOptions> writer_options(const DumpInfo& info, const CaptureSpec& spec) {
  WriterOptions options;
  TENSORTAP_ASSIGN_OR_RETURN(options.profile, parse_profile(spec.profile));
  options.net = layout_option(spec, "net_name", "Net");
  if (const Status status = check_net_name(options.net); !status.ok()) return status.with_context("net_name");
  options.tensors = spec.payload == Payload::kTensor || spec.payload == Payload::kFull;
  options.statistics = spec.payload == Payload::kStatistics || spec.payload == Payload::kFull;
  if (!options.tensors && !options.statistics) {
    return invalid_argument("the layout mindspore has no place for descriptions; keep tensors, statistics or both");
  }
  TENSORTAP_RETURN_IF_ERROR(set_tree(info, spec, options));
  TENSORTAP_ASSIGN_OR_RETURN(options.root, Folder::hold(info.folder));
  options.rank = concat("rank_", info.rank);
  options.categories = layout_option(spec, "statistic_category", "max,min,l2norm");
  options.only_with_records = spec.trigger != Trigger::kAlways || !spec.where.empty();
  options.first_step = std::max(spec.steps.first(), spec.first_step);
  options.time_us = info.time_us;
  options.max_bytes = spec.limits.max_bytes;
  options.digest = spec.digest;
  options.extras = spec.extras;
  options.access = spec.access;
  options.config = layout_option(spec, "config");
  if (options.config.empty()) options.config = minimal_config_text(spec, options.net, options.categories);
  return options;
}

}  // namespace tensortap::mindspore
