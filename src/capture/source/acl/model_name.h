// How a model that comes from a file is called.

#ifndef TENSORTAP_SOURCE_ACL_MODEL_NAME_H_
#define TENSORTAP_SOURCE_ACL_MODEL_NAME_H_

#include <string>
#include <string_view>

#include "base/files.h"

namespace tensortap::acl_source {

// The file's name without the folder and the suffix, as trees have it.
inline std::string model_name_of(std::string_view path) {
  const std::string name = file_name(path);
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_MODEL_NAME_H_
