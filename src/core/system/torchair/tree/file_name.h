// The names of the files of an FX data dump: NODE-TARGET.INPUT.I[.J].TIME.npy, and likewise OUTPUT.

#ifndef TENSORTAP_SYSTEM_TORCHAIR_TREE_FILE_NAME_H_
#define TENSORTAP_SYSTEM_TORCHAIR_TREE_FILE_NAME_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace tensortap::torchair {

struct FileName {
  std::string_view node;    // "add_1"
  std::string_view target;  // "aten.add.Tensor"
  bool is_input = false;
  uint16_t slot = 0;
  int64_t element = -1;  // of a list of tensors, -1 = no list
  int64_t time_us = 0;   // since 1970
};

// The views lead into `name`. Nothing for another name.
std::optional<FileName> parse_file_name(std::string_view name);

// An operator as torch writes it: library, name and overload of "aten.add.Tensor"; a missing part is "".
struct Target {
  std::string_view library;
  std::string_view name;
  std::string_view overload;
};
Target parse_target(std::string_view target);

}  // namespace tensortap::torchair

#endif  // TENSORTAP_SYSTEM_TORCHAIR_TREE_FILE_NAME_H_
