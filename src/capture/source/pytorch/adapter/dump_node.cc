#include "source/pytorch/adapter/dump_node.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <torch/library.h>

#include <mutex>
#include <optional>

#include "source/pytorch/adapter/tensor_facts.h"
#include "source/pytorch/adapter/thread_frames.h"

namespace tensortap::torch_adapter {
namespace {

const tensortap_torch_tracker* dump_tracker = nullptr;

void tell(at::TensorList tensors, int64_t site) {
  ThreadFrames* frames = thread_frames();
  if (frames == nullptr || frames->busy) return;
  const size_t copies = frames->copies.size();
  frames->tensors.clear();
  frames->made_sizes.clear();
  for (const at::Tensor& tensor : tensors) frames->tensors.push_back(describe(tensor, 0, -1));
  dump_tracker->dump_node(site, frames->tensors.data(), static_cast<uint32_t>(frames->tensors.size()));
  if (frames->copies.size() > copies) frames->copies.resize(copies);
}

struct NamedGroup {
  const void* group;
  std::string name;
};

std::mutex groups_mutex;

std::vector<NamedGroup>& named_groups() {
  static auto& groups = *new std::vector<NamedGroup>;
  return groups;
}

// What Python and C++ both hold of an object: its address. Null for what is no object of a class that C++ registered.
const void* object_of(const c10::IValue& value) {
  if (!value.isObject() || !value.isCustomClass()) return nullptr;
  return value.toObject()->getSlot(0).toCapsule().get();
}

void add_name(const void* group, const std::string& name) {
  if (group == nullptr) return;
  const std::lock_guard lock(groups_mutex);
  for (NamedGroup& known : named_groups()) {
    if (known.group != group) continue;
    known.name = name;  // another one was there before
    return;
  }
  named_groups().push_back({group, name});
}

void name_group(const c10::OperatorHandle& /*handle*/, torch::jit::Stack* stack) {
  const std::string name = torch::jit::pop(*stack).toStringRef();
  const c10::IValue group = torch::jit::pop(*stack);
  add_name(object_of(group), name);
}

// The program's graph must not fail for our sake.
void dump(at::TensorList tensors, int64_t site) {
  try {
    tell(tensors, site);
  } catch (...) {
  }
}

}  // namespace

std::string group_name(const c10::IValue& value) {
  const void* group = object_of(value);
  if (group == nullptr) return "";
  const std::lock_guard lock(groups_mutex);
  for (const NamedGroup& known : named_groups()) {
    if (known.group == group) return known.name;
  }
  return "";
}

void set_tracker_for_dumps(const tensortap_torch_tracker* tracker) { dump_tracker = tracker; }

void define_operators() {
  static std::mutex mutex;
  static bool is_defined = false;
  const std::lock_guard lock(mutex);
  if (is_defined) return;
  // They stay for the life of the process: compiled graphs keep the operator.
  auto* definition = new torch::Library(torch::Library::DEF, "tensortap", std::nullopt, __FILE__, __LINE__);
  definition->def("dump(Tensor(a!)[] tensors, int site) -> ()");
  for (const c10::DispatchKey key : {c10::DispatchKey::CompositeExplicitAutograd, c10::DispatchKey::Python}) {
    auto* kernel = new torch::Library(torch::Library::IMPL, "tensortap", key, __FILE__, __LINE__);
    kernel->impl("dump", dump);
  }
  // A view that negates or conjugates stays one, as for an operator that is captured: torch would refuse to write through a list of them.
  for (const c10::DispatchKey key : {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative, c10::DispatchKey::ZeroTensor}) {
    auto* kernel = new torch::Library(torch::Library::IMPL, "tensortap", key, __FILE__, __LINE__);
    kernel->impl("dump", torch::CppFunction::makeFallthrough());
  }
  definition->def("name_group(Any group, str name) -> ()", torch::CppFunction::makeFromBoxedFunction<&name_group>());
  is_defined = true;
}

void begin_graph(uint64_t* thread, int64_t* sequence_number) {
  *thread = at::RecordFunction::currentThreadId();
  *sequence_number = static_cast<int64_t>(at::sequence_number::peek());
  ThreadFrames* frames = thread_frames();
  if (frames == nullptr || frames->graphs++ > 0) return;
  frames->suspended = at::isRecordFunctionEnabled() && !at::hasThreadLocalCallbacks();
  if (frames->suspended) at::enableRecordFunction(false);
}

void end_graph() {
  ThreadFrames* frames = thread_frames();
  if (frames == nullptr || frames->graphs == 0 || --frames->graphs > 0) return;
  if (frames->suspended) at::enableRecordFunction(true);
  frames->suspended = false;
}

}  // namespace tensortap::torch_adapter
