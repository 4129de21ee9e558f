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
  uint32_t last_task = 0;                                   // guarded by mutex
  std::deque<std::pair<uint32_t, FailedOpFacts>> failures;  // guarded by mutex
};

Memories& memories() {
  static auto* const memories = new Memories;
  return *memories;
}

std::atomic<aclrtExceptionInfoCallback> program_callback{nullptr};

FailedOpFacts facts_of(const Json& failed_op) {
  FailedOpFacts facts;
  if (!failed_op.is_object()) return facts;
  facts.name = failed_op.value("name", "");
  const auto inputs = failed_op.find("inputs");
  if (inputs == failed_op.end() || !inputs->is_array()) return facts;
  for (const Json& input : *inputs) {
    std::vector<int64_t> dims;
    const auto shape = input.find("shape");
    if (shape != input.end() && shape->is_array()) {
      for (const Json& dim : *shape) dims.push_back(dim.is_number_integer() ? dim.get<int64_t>() : -1);
    }
    const aclDataType type =
        input.contains("dtype") && input["dtype"].is_string() ? acl_type_of(input["dtype"].get<std::string>()) : ACL_DT_UNDEFINED;
    aclTensorDesc desc = *describe_tensor(type, dims, natural_format(type, dims.size()));
    if (input.contains("name") && input["name"].is_string()) desc.name = input["name"].get<std::string>();
    facts.inputs.push_back(std::move(desc));
  }
  return facts;
}

}  // namespace

void set_callback(aclrtExceptionInfoCallback callback) { program_callback.store(callback); }

void report(const Json& failed_op, uint32_t stream, uint32_t code) {
  aclrtExceptionInfo info;
  {
    const std::lock_guard lock(memories().mutex);
    info.task = ++memories().last_task;
    memories().failures.emplace_back(info.task, facts_of(failed_op));
    if (memories().failures.size() > kMostRemembered) memories().failures.pop_front();
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
