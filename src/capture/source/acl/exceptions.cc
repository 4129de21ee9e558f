#include "source/acl/exceptions.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>

#include "base/json.h"
#include "source/acl/devices.h"
#include "source/acl/element_kinds.h"
#include "source/acl/tensor_desc.h"

namespace tensortap::acl_source::exceptions {
namespace {

constexpr size_t kMostRemembered = 64;

struct Memories {
  std::mutex mutex;
  std::deque<std::pair<uint32_t, FailedOpFacts>> failures;  // by task; guarded by mutex
};

Memories& memories() {
  static auto* const memories = new Memories;
  return *memories;
}

std::atomic<aclrtExceptionInfoCallback> program_callback{nullptr};

aclTensorDesc desc_of(const Json& value) {
  std::vector<int64_t> dims;
  const auto shape = value.find("shape");
  if (shape == value.end() || !shape->is_array()) {
    dims = {-2};  // any rank
  } else {
    for (const Json& dim : *shape) dims.push_back(dim.is_number_integer() ? dim.get<int64_t>() : -1);
  }
  const aclDataType type =
      value.contains("dtype") && value["dtype"].is_string() ? acl_type_of(value["dtype"].get<std::string>()) : ACL_DT_UNDEFINED;
  aclTensorDesc desc = *describe_tensor(type, dims, natural_format(type, dims.size()));
  if (value.contains("name") && value["name"].is_string()) desc.name = value["name"].get<std::string>();
  return desc;
}

std::vector<aclTensorDesc> descs_in(const Json& failed_op, const char* key) {
  std::vector<aclTensorDesc> descs;
  const auto values = failed_op.find(key);
  if (values == failed_op.end() || !values->is_array()) return descs;
  for (const Json& value : *values) descs.push_back(desc_of(value));
  return descs;
}

FailedOpFacts facts_of(const Json& failed_op) {
  if (!failed_op.is_object()) return {};
  return {failed_op.value("name", ""), descs_in(failed_op, "inputs"), descs_in(failed_op, "outputs")};
}

}  // namespace

void set_callback(aclrtExceptionInfoCallback callback) { program_callback.store(callback); }

void report(const Json& failed_op, uint32_t stream, uint32_t code) {
  aclrtExceptionInfo info;
  info.task = failed_op.is_object() ? failed_op.value("task", UINT32_MAX) : UINT32_MAX;
  {
    const std::lock_guard lock(memories().mutex);
    memories().failures.emplace_front(info.task, facts_of(failed_op));
    if (memories().failures.size() > kMostRemembered) memories().failures.pop_back();
  }
  info.stream = stream;
  info.thread = static_cast<uint32_t>(syscall(SYS_gettid));
  info.device = static_cast<uint32_t>(std::max(0, devices::current_device()));
  info.code = code;
  if (const auto callback = program_callback.load()) callback(&info);
}

std::optional<FailedOpFacts> find(uint32_t task) {
  const std::lock_guard lock(memories().mutex);
  for (const auto& [number, facts] : memories().failures) {
    if (number == task && !facts.name.empty()) return facts;
  }
  return std::nullopt;
}

}  // namespace tensortap::acl_source::exceptions
