#include "tree/tree_index.h"

#include "base/json.h"

namespace tensortap {

TreeIndex::TreeIndex(std::string_view layout, TreeContent content) : layout_(layout), content_(std::move(content)) {
  completeness_.found.records = rows().size();
  completeness_.found.ops = ops().size();
  for (const std::string& sentence : content_.damage) completeness_.lack(sentence);
  if (const auto manifest = parse_json(content_.manifest, "the manifest"); manifest.ok()) add_manifest(*manifest, completeness_);
  // The files of a tree hold other records than the capture counts: for each op also its inputs.
  completeness_.written = {};
  if (completeness_.state == DumpState::kComplete) completeness_.state = DumpState::kUnknown;
  if (!completeness_.holds_all()) completeness_.count_steps(rows());
}

}  // namespace tensortap
