// What a dump in a tree of AscendCL is to be, made of what the session is told.

#ifndef TENSORTAP_LAYOUT_GE_GE_OPTIONS_H_
#define TENSORTAP_LAYOUT_GE_GE_OPTIONS_H_

#include <cstdint>
#include <string>

#include "base/status.h"
#include "layout/ge/ge_statistic.h"
#include "layout/layout.h"

namespace tensortap {

enum class GeScene : uint8_t { kModel, kOverflow, kException, kWatcher };

struct GeOptions {
  std::string root;
  std::string time_folder;  // "20261121080311"
  std::string device;       // "0"
  std::string model;        // "resnet50/1": below the device, for ops that belong to a model
  std::string manifest;     // name of the file with what was captured
  uint32_t model_number = 0;
  GeScene scene = GeScene::kModel;
  bool tensors = true;
  bool statistics = false;
  bool weights = true;  // whether a weight has a file of its own: the real system writes none
  bool brief_exceptions = false;
  bool portable_names = false;     // files and folders have names that the vendor's tools take
  bool only_with_records = false;  // the plan keeps some executions only
  int64_t first_step = 0;
  uint64_t max_bytes = 0;  // of the dump, 0 = no limit
  uint64_t time_us = 0;    // from which files are dated, 0 = they come into being now
  Access access = Access::kPrivate;
  std::string failure;  // what files of failed ops say of it
};

// What this layout reads of CaptureSpec::layout_options.
extern const LayoutOption kGeLayoutOptions[4];

// Errors: kInvalidArgument for a spec that keeps neither tensors nor statistics, and for options that there are not.
Result<GeOptions> ge_options(const DumpInfo& info, const CaptureSpec& spec);
// The columns that the spec asks for.
Result<GeStatisticTable> ge_statistic_table(const CaptureSpec& spec);

}  // namespace tensortap

#endif  // TENSORTAP_LAYOUT_GE_GE_OPTIONS_H_
