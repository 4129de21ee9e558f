#include "source/onnxruntime/taps/tap_operator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "base/clock.h"
#include "source/onnxruntime/runtime/element_types.h"
#include "source/onnxruntime/runtime/ort_value.h"

namespace tensortap::onnxruntime {
namespace {

// One tap node of one session, made when the session loads.
struct Kernel {
  Api api;
  std::shared_ptr<TapGraph> graph;
  uint32_t id = 0;
};

// Graphs whose sessions are being made.
struct PublishedGraphs {
  std::mutex mutex;
  std::map<int64_t, std::shared_ptr<TapGraph>> by_number;
};

PublishedGraphs& published_graphs() {
  static auto& graphs = *new PublishedGraphs;
  return graphs;
}

using ValueArray = std::vector<const abi::Value*>;

abi::Status* read_values(const Kernel& kernel, const abi::KernelContext* context, size_t count, ValueArray& values) {
  values.resize(count);
  auto* get_input = kernel.api.find(ort::kKernelContextGetInput);
  for (size_t i = 0; i < count; ++i) {
    if (abi::Status* status = get_input(context, i, &values[i])) return status;
  }
  return nullptr;
}

int64_t element_number(const Kernel& kernel, const abi::KernelContext* context) {
  const abi::Value* value = nullptr;
  const void* data = nullptr;
  if (!kernel.api.call(ort::kKernelContextGetInput, context, size_t{1}, &value).ok() || value == nullptr) return -1;
  TensorScratch scratch;
  tensortap_tensor tensor{};
  if (!view_tensor(kernel.api, value, scratch, tensor).ok() || tensor.data == nullptr) return -1;
  data = tensor.data;
  int64_t number = -1;
  std::memcpy(&number, data, sizeof(number));
  return number;
}

abi::Status* fire_in(const Kernel& kernel, abi::KernelContext* context, Run& run) {
  if (run.listener == nullptr) return nullptr;
  const Tap& tap = kernel.graph->taps[kernel.id];
  const int64_t begin = monotonic_ns();
  if (run.listener->wants(tap, run)) {
    static thread_local ValueArray values;
    if (abi::Status* status = read_values(kernel, context, tap.slots.size(), values)) return status;
    const int64_t element = tap.kind == TapKind::kSequence ? element_number(kernel, context) : -1;
    run.listener->on_tap({kernel.api, context, tap, values, element, run.duration(tap, begin)}, run);
  }
  run.tap_done(tap, begin, monotonic_ns());
  return nullptr;
}

// The whole life of a firing tap. Nothing may escape: the library would end the program.
abi::Status* fire(const Kernel& kernel, abi::KernelContext* context) {
  RunTracker& tracker = kernel.graph->tracker;
  Run* run = tracker.run_of(kernel.api, context, kernel.id);
  if (run == nullptr) return nullptr;
  abi::Status* status = fire_in(kernel, context, *run);
  tracker.hand_over(*run);
  return status;
}

abi::Status* compute_side(void* kernel, abi::KernelContext* context) noexcept {
  try {
    return fire(*static_cast<const Kernel*>(kernel), context);
  } catch (...) {
    return nullptr;  // out of memory: this tensor is not captured, the program goes on
  }
}

// Gives the input on. The alias map makes the output the same memory; where the library does not follow it, copy.
abi::Status* pass_on(const Kernel& kernel, abi::KernelContext* context) {
  const abi::Value* input = nullptr;
  if (abi::Status* status = kernel.api.find(ort::kKernelContextGetInput)(context, 0, &input)) return status;
  TensorScratch scratch;
  tensortap_tensor tensor{};
  abi::Value* output = nullptr;
  void* target = nullptr;
  const auto refuse = [&](const char* why) { return kernel.api.find(ort::kCreateStatus)(abi::kFail, why); };
  if (!view_tensor(kernel.api, input, scratch, tensor).ok()) return refuse("tensortap: an alias tap got no tensor");
  if (abi::Status* status = kernel.api.find(ort::kKernelContextGetOutput)(context, 0, tensor.dims, tensor.rank, &output)) return status;
  if (tensor.dtype == TENSORTAP_STRING) {
    std::vector<const char*> texts;
    std::vector<std::string> copies;
    for (const tensortap_string& text : scratch.strings) copies.emplace_back(text.data, text.size);
    for (const std::string& text : copies) texts.push_back(text.c_str());
    return kernel.api.find(ort::kFillStringTensor)(output, texts.data(), texts.size());
  }
  if (abi::Status* status = kernel.api.find(ort::kGetTensorMutableData)(output, &target)) return status;
  const auto count = element_count({tensor.dims, tensor.rank});
  const auto bytes = packed_bytes(dtype_of(tensor.dtype), count.value_or(0));
  if (!count || !bytes) return refuse("impossible shape");
  if (target != tensor.data && *bytes > 0) std::memcpy(target, tensor.data, *bytes);
  return nullptr;
}

abi::Status* compute_alias(void* kernel, abi::KernelContext* context) noexcept {
  const auto& self = *static_cast<const Kernel*>(kernel);
  try {
    if (abi::Status* status = fire(self, context)) return status;
    return pass_on(self, context);
  } catch (...) {
    return self.api.find(ort::kCreateStatus)(abi::kFail, "tensortap: out of memory in an alias tap");
  }
}

abi::Status* make_kernel(TapOperators* owner, const void* table, const abi::KernelInfo* info, void** kernel) noexcept {
  const Api api(table, owner->api().release());
  int64_t id = 0;
  int64_t number = 0;
  if (abi::Status* status = api.find(ort::kKernelInfoGetAttributeInt64)(info, "id", &id)) return status;
  if (owner->serves_published()) {
    if (abi::Status* status = api.find(ort::kKernelInfoGetAttributeInt64)(info, "graph", &number)) return status;
  }
  try {
    std::shared_ptr<TapGraph> graph = owner->graph(number);
    if (graph == nullptr || id < 0 || static_cast<size_t>(id) >= graph->taps.size())
      return api.find(ort::kCreateStatus)(abi::kFail, "tensortap: a tap of another model");
    *kernel = new Kernel{api, std::move(graph), static_cast<uint32_t>(id)};
    return nullptr;
  } catch (...) {
    return api.find(ort::kCreateStatus)(abi::kFail, "tensortap: out of memory");
  }
}

constexpr int32_t kAnyElementType = 0;

// What both operators have in common: one input of any type, any number of them for side taps.
abi::CustomOp base_operator(uint32_t release) {
  abi::CustomOp op{};
  op.version = std::min(release, abi::kCustomOpRelease);
  op.get_execution_provider_type = [](const abi::CustomOp*) -> const char* { return nullptr; };  // the CPU
  op.get_input_type = [](const abi::CustomOp*, size_t) -> int32_t { return kAnyElementType; };
  op.get_input_type_count = [](const abi::CustomOp*) -> size_t { return 1; };
  op.get_input_memory_type = [](const abi::CustomOp*, size_t) -> int32_t { return 0; };
  op.get_output_type = [](const abi::CustomOp*, size_t) -> int32_t { return kAnyElementType; };
  op.get_output_characteristic = [](const abi::CustomOp*, size_t) -> int32_t { return abi::kRequired; };
  op.get_variadic_input_min_arity = [](const abi::CustomOp*) -> int { return 1; };
  op.get_variadic_input_homogeneity = [](const abi::CustomOp*) -> int { return 0; };
  op.get_variadic_output_min_arity = [](const abi::CustomOp*) -> int { return 1; };
  op.get_variadic_output_homogeneity = [](const abi::CustomOp*) -> int { return 0; };
  op.kernel_destroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
  op.get_start_version = [](const abi::CustomOp*) -> int { return 1; };
  op.get_end_version = [](const abi::CustomOp*) -> int { return INT32_MAX; };
  return op;
}

int g_zero = 0;  // the alias map's only row: output 0 is input 0

}  // namespace

TapOperators::Operator TapOperators::side_operator(TapOperators* owner) {
  Operator op;
  static_cast<abi::CustomOp&>(op) = base_operator(static_cast<uint32_t>(owner->api().release()));
  op.owner = owner;
  op.get_name = [](const abi::CustomOp*) -> const char* { return kSideTap; };
  op.get_input_characteristic = [](const abi::CustomOp*, size_t) -> int32_t { return abi::kVariadic; };
  op.get_output_type_count = [](const abi::CustomOp*) -> size_t { return 0; };
  op.create_kernel_v2 = [](const abi::CustomOp* self, const void* table, const abi::KernelInfo* info, void** kernel) {
    return make_kernel(static_cast<const Operator*>(self)->owner, table, info, kernel);
  };
  op.kernel_compute_v2 = &compute_side;
  return op;
}

TapOperators::Operator TapOperators::alias_operator(TapOperators* owner) {
  Operator op = side_operator(owner);
  op.get_name = [](const abi::CustomOp*) -> const char* { return kAliasTap; };
  op.get_input_characteristic = [](const abi::CustomOp*, size_t) -> int32_t { return abi::kRequired; };
  op.get_output_type_count = [](const abi::CustomOp*) -> size_t { return 1; };
  op.kernel_compute_v2 = &compute_alias;
  op.get_alias_map = [](int** input_index, int** output_index) -> size_t {
    *input_index = &g_zero;
    *output_index = &g_zero;
    return 1;
  };
  op.release_alias_map = [](int*, int*) {};
  return op;
}

PublishedGraph::PublishedGraph(int64_t number, std::shared_ptr<TapGraph> graph) : number_(number) {
  const std::lock_guard lock(published_graphs().mutex);
  published_graphs().by_number[number] = std::move(graph);
}

PublishedGraph::~PublishedGraph() {
  const std::lock_guard lock(published_graphs().mutex);
  published_graphs().by_number.erase(number_);
}

int64_t PublishedGraph::next_number() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

TapOperators::TapOperators(const Api& api, std::shared_ptr<TapGraph> graph)
    : api_(api), graph_(std::move(graph)), side_(side_operator(this)), alias_(alias_operator(this)) {}

std::shared_ptr<TapGraph> TapOperators::graph(int64_t number) const {
  if (graph_ != nullptr) return graph_;
  const std::lock_guard lock(published_graphs().mutex);
  const auto found = published_graphs().by_number.find(number);
  return found == published_graphs().by_number.end() ? nullptr : found->second;
}

Result<std::unique_ptr<TapOperators>> TapOperators::create(const Api& api, std::vector<Tap> taps) {
  return with_domain(std::unique_ptr<TapOperators>(new TapOperators(api, std::make_shared<TapGraph>(std::move(taps)))));
}

Result<std::unique_ptr<TapOperators>> TapOperators::create_for_published(const Api& api) {
  return with_domain(std::unique_ptr<TapOperators>(new TapOperators(api, nullptr)));
}

Result<std::unique_ptr<TapOperators>> TapOperators::with_domain(std::unique_ptr<TapOperators> operators) {
  const Api& api = operators->api();
  abi::CustomOpDomain* raw = nullptr;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kCreateCustomOpDomain, kTapDomain, &raw));
  operators->domain_ = api.own(ort::kReleaseCustomOpDomain, raw);
  const abi::CustomOp* side = &operators->side_;
  const abi::CustomOp* alias = &operators->alias_;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kCustomOpDomainAdd, raw, side));
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kCustomOpDomainAdd, raw, alias));
  return operators;
}

}  // namespace tensortap::onnxruntime
