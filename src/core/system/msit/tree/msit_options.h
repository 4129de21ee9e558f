// The options of a dump in a tree of msit, made from the description of the dump and its spec.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_MSIT_OPTIONS_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_MSIT_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/folder.h"
#include "base/status.h"
#include "layout/layout.h"

namespace tensortap::msit {

struct WriterOptions {
  std::shared_ptr<const Folder> root;
  std::string dump;      // "msit_dump_20251120_200000"
  std::string process;   // "0_22377": for ops that do not name theirs
  std::string manifest;  // name of the file with what was captured
  bool tensors = true;
  bool statistics = false;
  bool inputs_before = false;      // what an op read lies in "before", whatever its record says
  bool only_with_records = false;  // the plan keeps some executions only
  bool links = false;              // a file whose bytes another one has is a link to that
  bool operation_table = false;    // a table of what operations read and made
  bool kernel_table = false;
  bool layer_topology = false;  // what root operations are made of
  bool model_topology = false;  // and models
  bool onnx = false;            // an ONNX model beside each topology
  bool times = false;           // of operations
  bool launches = false;        // how kernels were launched
  bool kernel_files = true;     // tensors of kernels have files
  bool own_kernels = true;      // an operator is its own kernel, for the source knows of none
  std::string model;            // the model of all root operations, "" where each names its own
  bool files = true;            // tensors have files
  bool table_before = true;     // these name the files in "before"
  std::string absolute_root;    // of the paths in tables
  uint64_t max_bytes = 0;       // of the dump, 0 = no limit
  uint32_t threads = 0;         // of the runtime for one op, 0 = not known
  Access access = Access::kPrivate;

  // Whether the topology is asked for.
  [[nodiscard]] bool describes_operations() const { return layer_topology || model_topology; }
};

// What this layout reads of CaptureSpec::layout_options.
extern const LayoutOption kLayoutOptions[9];

// Errors: kInvalidArgument for an option whose value is not valid.
Result<WriterOptions> writer_options(const DumpInfo& info, const CaptureSpec& spec);

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_MSIT_OPTIONS_H_
