// The objects behind the opaque handles of the headers.

#ifndef TENSORTAP_SOURCE_ACL_OBJECTS_H_
#define TENSORTAP_SOURCE_ACL_OBJECTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_prof.h"

namespace tensortap::acl_source {

class Model;
class ModelInterface;

// What a data set says about the open dimensions of its runs.
struct DynamicSizes {
  uint64_t batch = 0;
  uint64_t height = 0;
  uint64_t width = 0;
  std::vector<int64_t> dims;  // of all inputs, one behind the other

  [[nodiscard]] bool empty() const { return batch == 0 && height == 0 && dims.empty(); }
};

}  // namespace tensortap::acl_source

struct aclDataBuffer {
  void* data = nullptr;
  size_t size = 0;
};

struct aclTensorDesc {
  aclDataType type = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  bool unknown_rank = false;
  std::vector<int64_t> dims;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  std::string name;
  std::string dynamic_input;
  void* address = nullptr;
  bool is_constant = false;
  std::vector<uint8_t> constant;
  std::vector<std::shared_ptr<aclTensorDesc>> siblings;  // of an array: all behind the first
};

struct aclmdlDataset {
  struct Entry {
    aclDataBuffer* buffer = nullptr;
    std::shared_ptr<aclTensorDesc> description;  // registered while it is here
  };
  mutable std::mutex mutex;
  std::vector<Entry> entries;                 // guarded by mutex
  tensortap::acl_source::DynamicSizes sizes;  // guarded by mutex
};

struct aclmdlDesc {
  std::shared_ptr<const tensortap::acl_source::ModelInterface> interface;  // null until aclmdlGetDesc()
  std::shared_ptr<tensortap::acl_source::Model> model;                     // null for a description of a file
  // The program has asked what sizes it may set: it wants to know the largest.
  mutable bool asks_for_sizes = false;
  mutable std::map<std::string, std::string> attributes;
};

struct aclmdlConfigHandle {
  size_t load_type = 0;
  std::string path;
  const void* memory = nullptr;
  size_t memory_size = 0;
};

struct aclmdlExecConfigHandle {
  int32_t stream_timeout = -1;
};

struct aclopAttr {
  using Value = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, std::vector<std::string>>;
  std::map<std::string, Value> values;
};

struct aclopHandle {
  std::string type;
  std::vector<aclTensorDesc> inputs;
  std::vector<aclTensorDesc> outputs;
  aclopAttr attributes;
};

struct aclprofConfig {
  uint64_t data_types = 0;
};

struct aclrtExceptionInfo {
  uint32_t task = 0;
  uint32_t stream = 0;
  uint32_t thread = 0;
  uint32_t device = 0;
  uint32_t code = 0;
};

#endif  // TENSORTAP_SOURCE_ACL_OBJECTS_H_
