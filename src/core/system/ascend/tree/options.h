// Options of a dump in a tree of AscendCL, made from DumpInfo and CaptureSpec.

#ifndef TENSORTAP_SYSTEM_ASCEND_TREE_OPTIONS_H_
#define TENSORTAP_SYSTEM_ASCEND_TREE_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/folder.h"
#include "base/status.h"
#include "layout/layout.h"
#include "system/ascend/statistics.h"
#include "tree/asynchronous_tree.h"

namespace tensortap::ascend {

enum class TreeScene : uint8_t { kModel, kOverflow, kException, kWatcher };

struct Options {
  std::shared_ptr<const Folder> root;
  AsynchronousTree tree;
  AclRequest request;
  ManifestPlace manifest;  // of the file that lists what was captured
  uint32_t model_number = 0;
  TreeScene scene = TreeScene::kModel;
  bool tensors = true;
  bool statistics = false;
  bool weights = true;  // whether a weight has a separate file: the real system writes none
  bool brief_exceptions = false;
  bool portable_names = false;     // files and folders have names that the vendor's tools take
  bool scoped_names = false;       // ops have the names that MindSpore gives them
  bool only_with_records = false;  // the plan keeps some executions only
  int64_t first_step = 0;
  uint64_t max_bytes = 0;  // of the dump, 0 = no limit
  uint64_t time_us = 0;    // from which files are dated, 0 = they come into being now
  Access access = Access::kPrivate;
  std::string failure;  // the failure, for the files of failed ops
};

// The keys of CaptureSpec::layout_options that this layout reads.
extern const LayoutOption kLayoutOptions[7];

// Errors: kInvalidArgument for a spec that keeps neither tensors nor statistics, and for options that do not exist.
Result<Options> writer_options(const DumpInfo& info, const CaptureSpec& spec);
// The columns that the spec asks for.
Result<StatisticTable> chosen_statistics(const CaptureSpec& spec);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_TREE_OPTIONS_H_
