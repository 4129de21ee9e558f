// The options of the layout "mindspore" in a CaptureSpec.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_OPTIONS_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/folder.h"
#include "base/status.h"
#include "layout/layout.h"
#include "system/mindspore/release.h"
#include "tree/asynchronous_tree.h"

namespace tensortap::mindspore {

struct WriterOptions {
  Profile profile;
  std::shared_ptr<const Folder> root;  // "…/rank_0" is below it
  std::string rank;                    // "rank_0"
  std::string net;
  std::string categories;
  std::string config;  // for .dump_metadata/data_dump.json
  std::string digest;  // that records have
  bool tensors = false;
  bool statistics = false;
  bool only_with_records = false;  // a condition or a trigger lets some executions in only
  int64_t first_step = 0;          // the first that can be captured
  uint64_t time_us = 0;            // from which files are dated, 0 = they come into being now
  uint64_t max_bytes = 0;          // of the dump, 0 = no limit
  Extras extras;
  Access access = Access::kPrivate;
  // For an asynchronous dump: where its files are, and what MindSpore requests of AscendCL for it.
  std::optional<AsynchronousTree> tree;
  AclRequest request;
  uint64_t model_number = 1;
  bool overflow = false;  // an op that made NaN or Inf gets a description of that, in an asynchronous dump

  // Whether there is a folder rank_R with everything beside the tensors.
  [[nodiscard]] bool has_rank() const { return !tree || tree->form == TreeForm::kRank; }
};

// The keys of CaptureSpec::layout_options that this layout reads.
extern const LayoutOption kLayoutOptions[4];

// Errors as create_tree() has them.
Result<WriterOptions> writer_options(const DumpInfo& info, const CaptureSpec& spec);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_OPTIONS_H_
