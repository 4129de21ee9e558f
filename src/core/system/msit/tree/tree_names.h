// The names in a tree of `msit llm dump`: dumps, processes, operations, tensors.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_TREE_NAMES_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_TREE_NAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/op_info.h"
#include "trace/operation_type.h"

namespace tensortap::msit {

inline constexpr std::string_view kTensors = "tensors";
inline constexpr std::string_view kTiling = "tiling";
inline constexpr std::string_view kTilingFile = "kernel_tilingdata.bin";
inline constexpr std::string_view kBefore = "before";
inline constexpr std::string_view kAfter = "after";
inline constexpr std::string_view kParametersFile = "op_param.json";

// "msit_dump_20251120_200000", and "msit_dump" and "ait_dump" with or without a time; "atb_dump_data" of the system's successor.
bool is_dump_name(std::string_view name);
// "20251120200000" of "msit_dump_20251120_200000"; "" of a name without a time.
std::string time_of_dump(std::string_view name);
// The name of a dump for such a time. Fourteen digits.
std::string dump_name(std::string_view time);

// "0_22377": the device, -1 where it is not known, and the process.
struct ProcessName {
  int32_t device = 0;
  int64_t process = 0;
};
std::optional<ProcessName> parse_process_name(std::string_view name);

// "1_Decoder_layer": the last number of the operation's id, and its type. The view leads into `name`.
struct OperationName {
  uint32_t number = 0;
  std::string_view type;
};
std::optional<OperationName> parse_operation_name(std::string_view name);

// "intensor0.bin", "outtensor1.bin", "intensor0_query.bin", and when such a name is taken, ours: "outtensor0_call1.bin". The view leads
// into `name`.
struct TensorName {
  bool is_input = false;
  uint16_t slot = 0;
  uint32_t call = 0;
  std::string_view parameter = "";
};
std::optional<TensorName> parse_tensor_name(std::string_view name);
std::string tensor_name(bool is_input, uint32_t slot, uint32_t call);

// The level of an operation of this type in a tree.
Level level_of_type(std::string_view type);

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_TREE_NAMES_H_
