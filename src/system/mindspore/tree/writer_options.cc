#include "system/mindspore/tree/writer_options.h"

#include <algorithm>

#include "base/text.h"
#include "layout/layout_option.h"
#include "system/mindspore/tree/metadata_files.h"
#include "tree/named_folder.h"

namespace tensortap::mindspore {
namespace {

// The name becomes a folder.
Status check_net_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (!name.empty() && name.size() <= kLongestFileName && std::ranges::all_of(name, allowed)) return {};
  return invalid_argument(concat(quote(name), " must be 1 to 255 letters, digits, '-' and '_'"));
}

}  // namespace

const LayoutOption kLayoutOptions[3] = {
    {"net_name", "1 to 255 letters, digits, '-' and '_'", "Net", "The folder below that of the rank.", check_net_name},
    {"statistic_category", "words of MindSpore's statistic_category, separated by commas", "max,min,l2norm",
     "The columns of statistic.csv, where the release lets its users choose them."},
    {"config", "the text of a MindSpore config", "",
     "What .dump_metadata/data_dump.json holds; without it, a config with the same selection."},
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
  options.root = info.folder;
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
