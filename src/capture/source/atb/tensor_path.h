// The path of a tensor as ATB tells it: "0_22349/0/1_Decoder_layer/0_LinearOperation/before/intensor0.bin".

#ifndef TENSORTAP_SOURCE_ATB_TENSOR_PATH_H_
#define TENSORTAP_SOURCE_ATB_TENSOR_PATH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensortap::atb {

// An operation of a path. Views lead into the path.
struct PathOperation {
  std::string_view path;  // from the first operation to this one: "1_Decoder_layer/0_LinearOperation"
  std::string_view type;  // "LinearOperation"
  std::string id;         // "1_0"
};

struct FolderPath {
  std::string_view process;  // "0_22349"
  int32_t device = -1;       // -1 = not known
  int64_t round = 0;
  std::vector<PathOperation> operations;  // root first, at least one
};

// "0_22349/0/1_Decoder_layer", with any number of operations up to 32. Nothing for another path.
std::optional<FolderPath> parse_folder_path(std::string_view path);

struct TensorPath {
  FolderPath folder;
  bool before = false;
  bool is_input = false;
  uint32_t slot = 0;
  std::string_view parameter;  // "query" of "intensor0_query.bin"
};
std::optional<TensorPath> parse_tensor_path(std::string_view path);

}  // namespace tensortap::atb

#endif  // TENSORTAP_SOURCE_ATB_TENSOR_PATH_H_
