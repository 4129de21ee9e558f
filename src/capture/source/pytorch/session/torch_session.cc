#include "source/pytorch/session/torch_session.h"

#include <tensortap/asking.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/coverage_reasons.h"
#include "base/job_rank.h"
#include "base/text.h"
#include "source/pytorch/identity/module_table.h"
#include "source/pytorch/identity/moved_module.h"
#include "source/pytorch/memory/output_arguments.h"

namespace tensortap::pytorch {
namespace {

std::atomic<uint64_t> generations{0};

void nobody_steps(void* /*context*/, bool /*wanted*/) {}

constexpr uint32_t kBitsOfKinds = 16;  // of OpIdentity::not_captured
constexpr uint32_t kNotOfItsOp = TENSORTAP_TORCH_TENSOR_UNFINISHED | TENSORTAP_TORCH_TENSOR_OVERWRITTEN;

bool is_functional_collective(const TorchOperator& op) { return op.name_space.starts_with("_c10d_functional"); }

// Views of memory that a collective still writes, and ops that wait for it, read no values: nothing is lost without them.
bool passes_on_unfinished(const TorchOperator& op, const tensortap_torch_tensor& tensor) {
  if ((tensor.flags & TENSORTAP_TORCH_TENSOR_UNFINISHED) == 0) return false;
  return is_functional_collective(op) || (op.flags & (TENSORTAP_TORCH_OP_VIEW | TENSORTAP_TORCH_OP_REARRANGES)) != 0;
}

const char* reason_not_captured(const tensortap_torch_tensor& tensor, bool is_unfilled) {
  if (is_unfilled) return "host memory that a copy from a device may still fill";
  if ((tensor.flags & TENSORTAP_TORCH_TENSOR_OVERWRITTEN) != 0) return "output of a collective that may have been written over before";
  if ((tensor.flags & TENSORTAP_TORCH_TENSOR_UNFINISHED) != 0) return "tensor that a collective still wrote into";
  switch (tensor.kind) {
    case TENSORTAP_TORCH_SPARSE:
      return kReasonSparse;
    case TENSORTAP_TORCH_NESTED:
      return kReasonNested;
    case TENSORTAP_TORCH_MKLDNN:
      return kReasonLibraryLayout;
    case TENSORTAP_TORCH_META:
      return kReasonMeta;
    case TENSORTAP_TORCH_ZERO:
      return kReasonZero;
    case TENSORTAP_TORCH_DEVICE:
    case TENSORTAP_TORCH_STRIDED:
      return (tensor.flags & TENSORTAP_TORCH_TENSOR_SCATTERED) != 0 ? kReasonScattered : kReasonView;
    default:
      return "tensor without its own memory";
  }
}

// "blocks.0" of "Net.blocks.0": the prefix in the names of the parameters below a module.
std::string inside_tree(const std::string& path) {
  const size_t dot = path.find('.');
  return dot == std::string::npos ? std::string() : path.substr(dot + 1);
}

// The description of a node, for another instance that runs its graph.
GraphNode for_root(const GraphNode& told, ModuleId root) {
  GraphNode node = told;
  if (root == told.root) return node;
  const std::string from = module_path(told.root);
  const std::string to = module_path(root);
  node.module = number_of_path(moved(module_path(told.module), from, to));
  for (std::string& name : node.inputs) name = moved(name, inside_tree(from), inside_tree(to));
  return node;
}

// The pass that runs a node which no operation calls.
uint32_t pass_of(const KnownNode& node) {
  if (node.updates) return TENSORTAP_PHASE_UPDATE;
  return node.scope != 0 ? uint32_t{TENSORTAP_PHASE_BACKWARD} : 0;
}

const BoundNode* find_bound(const BoundNode* bound, uint64_t generation, ModuleId root) {
  while (bound != nullptr && (bound->generation != generation || bound->root != root)) bound = bound->next;
  return bound;
}

// The role of the call's own tensor: a later call of an op may get another tensor than the call that made the op known.
uint32_t role_flags(const OpIdentity& identity, const tensortap_torch_tensor& tensor) {
  if ((tensor.flags & TENSORTAP_TORCH_TENSOR_READ) == 0) return 0;
  uint32_t flags = TENSORTAP_TENSOR_ROLE_KNOWN;
  if ((tensor.flags & TENSORTAP_TORCH_TENSOR_PARAMETER) != 0) flags |= TENSORTAP_TENSOR_PARAMETER;
  const bool named = tensor.slot < identity.input_names.size() && identity.input_names[tensor.slot] != 0 && tensor.element <= 0;
  if (!named) return flags;
  const bool same = parameter_name_number(tensor.storage_data) == identity.input_names[tensor.slot];
  return flags | (same ? TENSORTAP_TENSOR_OWN_NAME : TENSORTAP_TENSOR_OTHER_NAME);
}

StepsBy steps_by(tensortap_session* session, const OpIdentities& identities) {
  if (identities.calls_apart()) return StepsBy::kRounds;
  return tensortap_has_step_modules(session) != 0 ? StepsBy::kModules : StepsBy::kProgram;
}

}  // namespace

TorchRuntime& torch_runtime() {
  static auto& runtime = *new TorchRuntime;
  return runtime;
}

Result<tensortap_session*> open_session(tensortap_session_options options, const TorchRuntime& runtime) {
  const JobRank rank = job_rank();
  const std::string source = concat("pytorch ", runtime.adapter.torch_version);
  options.size = sizeof options;
  options.version = TENSORTAP_CAPTURE_VERSION;
  options.source = source.c_str();
  const int threads = runtime.number_of_threads == nullptr ? 0 : runtime.number_of_threads();
  options.threads = static_cast<uint32_t>(std::max(threads, 0));
  options.rank = rank.rank;
  options.world_size = rank.world_size;
  tensortap_session* session = nullptr;
  std::array<char, 2000> message{};
  const int code = tensortap_session_open(&options, &session, message.data(), message.size());
  if (code != TENSORTAP_OK) return Status(static_cast<StatusCode>(code), message.data());
  return session;
}

TorchSession::TorchSession(tensortap_session* opened, TorchRuntime& given, void (*on_step)(void* context, bool wanted), void* context)
    : session(opened),
      runtime(given),
      generation(generations.fetch_add(1) + 1),
      levels(tensortap_levels(opened)),
      identities(opened, given.adapter, given.operators, given.scopes),
      storages(given.adapter),
      steps(opened, on_step == nullptr ? nobody_steps : on_step, context, steps_by(opened, identities)) {}

bool TorchSession::describe(OpIdentity& identity, const tensortap_torch_tensor& tensor, const StorageContent& content,
                            tensortap_tensor& out) const {
  constexpr uint32_t kNotAsTheyAre =
      TENSORTAP_TORCH_TENSOR_CONJUGATE | TENSORTAP_TORCH_TENSOR_NEGATIVE | TENSORTAP_TORCH_TENSOR_SCATTERED | kNotOfItsOp;
  const bool as_it_is = (tensor.flags & kNotAsTheyAre) == 0;
  const bool on_device = tensor.kind == TENSORTAP_TORCH_DEVICE;
  const bool is_unfilled = content.unfilled && !on_device;
  const bool is_remote = as_it_is && tensor.device != nullptr && tensor.data != nullptr;
  const bool has_values = as_it_is && !is_unfilled && (on_device || tensor.kind == TENSORTAP_TORCH_STRIDED);
  const bool passes_on = passes_on_unfinished(runtime.operators[identity.op], tensor);
  const uint32_t bit = (tensor.flags & kNotOfItsOp) == 0 ? 1U << tensor.kind : (tensor.flags & kNotOfItsOp) << kBitsOfKinds;
  if (!has_values && !passes_on && (identity.not_captured.fetch_or(bit, std::memory_order_relaxed) & bit) == 0) {
    tensortap_not_captured(session, identity.id, reason_not_captured(tensor, is_unfilled));
  }
  const bool described = tensor.kind == TENSORTAP_TORCH_STRIDED || on_device;
  if (!described || (tensor.dims == nullptr && tensor.rank > 0)) return false;
  out = {};
  out.size = sizeof out;
  out.dtype = tensor.dtype;
  out.data = has_values && !is_remote ? tensor.data : nullptr;
  if (has_values && is_remote) {
    out.device = tensor.device;
    out.source = &tensor;
    out.identity = tensor.data;
  }
  out.dims = tensor.dims;
  out.strides = tensor.strides;
  out.rank = tensor.rank;
  out.slot_index = tensor.slot;
  out.element = tensor.element;
  out.flags = (content.unwritten || passes_on ? TENSORTAP_TENSOR_UNWRITTEN : 0U) | role_flags(identity, tensor);
  if (content.partly) out.flags |= TENSORTAP_TENSOR_PARTLY_UNWRITTEN;
  if (compiled_code_runs()) out.flags |= TENSORTAP_TENSOR_IN_COMPILED_CODE;
  if (on_device || is_unfilled || is_remote) out.flags |= TENSORTAP_TENSOR_ON_DEVICE;
  // An op that reads unwritten memory is a suspect; an operator that waits is not.
  out.storage = passes_on && is_functional_collective(runtime.operators[identity.op]) ? 0 : content.storage;
  out.version = content.version;
  return true;
}

OpIdentity& TorchSession::op_of(const KnownNode& node, ModuleId root) {
  const BoundNode* first = node.bound.load(std::memory_order_acquire);
  if (const BoundNode* bound = find_bound(first, generation, root)) return *bound->identity;
  const GraphNode told = for_root(node.told, root);
  OpKey key;
  key.op = node.op;
  key.module = told.module;
  key.position = {&node, static_cast<int32_t>(root)};
  key.forward = node.forward == nullptr ? nullptr : &op_of(*node.forward, root);
  key.scope = node.scope;
  key.level = node.told.level;
  // In a graph it is unknown which call of which operation this is.
  const CallPlace place{nullptr, 0, steps.round().model_phase, pass_of(node)};
  OpIdentity& identity = identities.of_node(key, told, identities.calls_apart() ? place : CallPlace{});
  bind(node, root, identity);
  return identity;
}

void TorchSession::bind_node(const KnownNode& node, OpIdentity& identity) { bind(node, node.told.root, identity); }

void TorchSession::bind(const KnownNode& node, ModuleId root, OpIdentity& identity) const {
  // Bound nodes stay: another thread may be reading them.
  auto* bound = new BoundNode{generation, root, &identity, node.bound.load(std::memory_order_relaxed)};
  while (!node.bound.compare_exchange_weak(bound->next, bound, std::memory_order_release)) {
  }
}

const OpIdentity& TorchSession::place_of_graph(ModuleId root) {
  const std::lock_guard lock(mutex_);
  OpIdentity& place = places_[root];
  place.module = root;
  place.is_graph = true;
  place.name = module_path(root);
  return place;
}

}  // namespace tensortap::pytorch
