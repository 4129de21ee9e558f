// The small files beside the tensors: .dump_metadata, execution_order, the attributes of ops, overflow records.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_METADATA_FILES_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_METADATA_FILES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plan/capture_spec.h"
#include "system/mindspore/release.h"
#include "system/mindspore/tree/graph_description.h"

namespace tensortap::mindspore {

// A config in MindSpore's language with the meaning of `spec`, as far as the language goes; for a dump that was requested in another one.
std::string minimal_config_text(const CaptureSpec& spec, std::string_view net, std::string_view categories);
// "0|3-5" of a set of steps; "all".
std::string iteration_text(const StepSet& steps);
// .dump_metadata/config.json
std::string device_config_text(const Profile& profile);
// ms_execution_order_graph_0.csv: a title, then the scoped names of all ops that ran.
std::string execution_order_text(std::span<const GraphOp> ops);
// "Conv.Default_conv1_Conv-op0.json", the name of the file with an op's attributes.
std::string attributes_file_name(std::string_view scoped_name);
// Its text: name and value of each, as text, sorted. "null" when there are none or `attributes` is no JSON object.
std::string attributes_text(std::string_view attributes);

// Where an overflow was met: one member of an overflow record.
struct OverflowPlace {
  uint64_t model_id = 0;
  uint64_t stream_id = 0;
  uint64_t task_id = 0;
  uint64_t task_type = 0;
  uint64_t pc_start = 0;
  uint64_t para_base = 0;
  uint64_t status = 0;
};
struct OverflowRecord {
  OverflowPlace dha_atomic_add;
  OverflowPlace l2_atomic_add;
  OverflowPlace ai_core;
  uint64_t kernel_code = 0;  // of the AI Core
  uint64_t block_idx = 0;
};
// "Opdebug.Node_OpDebug.5.3.1700000000000000.output.0.json"
std::string overflow_file_name(uint64_t task, uint64_t stream, uint64_t time_us, uint32_t number);
std::string overflow_text(const OverflowRecord& record);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_METADATA_FILES_H_
