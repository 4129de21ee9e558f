// The operators of torch that adapters describe: constant once described.

#ifndef TENSORTAP_SOURCE_PYTORCH_IDENTITY_OPERATOR_TABLE_H_
#define TENSORTAP_SOURCE_PYTORCH_IDENTITY_OPERATOR_TABLE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::pytorch {

struct TorchOperator {
  std::string name;        // "aten::add"
  std::string overload;    // "Tensor"
  std::string type;        // "add"; with its namespace, "quantized.linear", where that is not aten
  std::string name_space;  // "aten"
  std::vector<std::string> arguments;
  uint32_t returns = 0;
  uint32_t flags = 0;        // TENSORTAP_TORCH_OP_*
  uint64_t overwritten = 0;  // bit per argument: written and not read
  uint64_t written = 0;      // bit per argument: the schema says that it is written
};

// Thread-safe; looking one up takes no lock. References stay valid as long as the table.
class OperatorTable {
 public:
  OperatorTable() = default;
  OperatorTable(const OperatorTable&) = delete;
  OperatorTable& operator=(const OperatorTable&) = delete;
  ~OperatorTable();

  // From 0. When the table is full, all further operators are the one named "unknown".
  uint32_t add(const tensortap_torch_op& op);
  const TorchOperator& operator[](uint32_t id) const;
  // The number of an operator that has no schema, such as one with graphs inside; described when it is first asked for.
  uint32_t without_schema(const std::string& name);

 private:
  static constexpr uint32_t kMost = 1U << 15;

  std::mutex mutex_;  // guards adding
  uint32_t count_ = 0;
  std::array<std::atomic<const TorchOperator*>, kMost> operators_{};
  std::mutex names_mutex_;
  std::map<std::string, uint32_t> without_schema_;  // guarded by names_mutex_
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_IDENTITY_OPERATOR_TABLE_H_
