#include "source/pytorch/adapter/operator_facts.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace tensortap::torch_adapter {
namespace {

const tensortap_torch_tracker* describer = nullptr;

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

constexpr std::string_view kFunctionalCollective = "_c10d_functional";

bool waits_for_collective(std::string_view name) {
  return starts_with(name, kFunctionalCollective) && name.find("::wait_tensor") != std::string_view::npos;
}

// c10d:: and what calls it without waiting: _c10d_functional:: and its twin for autograd.
bool is_collective(std::string_view name) {
  return starts_with(name, "c10d::") || (starts_with(name, kFunctionalCollective) && !waits_for_collective(name));
}

// Operators whose schema hides what they write; found by running PyTorch's own samples of every operator, of the oldest and of
// newer releases. Whatever is not PyTorch's own may do the same.
bool writes_undeclared(std::string_view operator_name, std::string_view argument) {
  if (starts_with(operator_name, "c10d::")) return argument == "tensors" && !starts_with(operator_name, "c10d::send");
  if (starts_with(operator_name, kFunctionalCollective)) return false;
  const bool own = starts_with(operator_name, "aten::") || starts_with(operator_name, "prims::") ||
                   starts_with(operator_name, "quantized::") || starts_with(operator_name, "fsdp::");
  return !own || argument == "running_mean" || argument == "running_var" || argument == "noise";
}

constexpr std::array<std::string_view, 5> kSeesValue = {"aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal", "aten::allclose",
                                                        "aten::item"};
constexpr std::array<std::string_view, 7> kTestsValue = {"aten::isfinite",
                                                         "aten::isnan",
                                                         "aten::isinf",
                                                         "aten::eq",
                                                         "aten::ne",
                                                         "aten::_amp_foreach_non_finite_check_and_unscale_",
                                                         "aten::_amp_non_finite_check_and_unscale_"};
// Operators that write all of their first argument and read nothing of it.
constexpr std::array<std::string_view, 15> kOverwriting = {
    "aten::copy_",       "aten::fill_",      "aten::zero_",          "aten::uniform_",       "aten::normal_",
    "aten::random_",     "aten::bernoulli_", "aten::cauchy_",        "aten::exponential_",   "aten::geometric_",
    "aten::log_normal_", "aten::set_",       "aten::_foreach_copy_", "aten::_foreach_zero_", "aten::resize_as_"};
constexpr std::array<std::string_view, 10> kIntendedInfinity = {
    "aten::masked_fill", "aten::masked_fill_", "aten::full",          "aten::full_like", "aten::fill_",
    "aten::where",       "aten::fill",         "aten::scalar_tensor", "aten::new_full",  "aten::constant_pad_nd"};

// Views of PyTorch's own that show elements of what they are given, with the values that these have: not as_strided, nor a view as another
// type.
constexpr std::array<std::string_view, 28> kRearranging = {
    "aten::alias",     "aten::chunk",        "aten::detach",  "aten::diagonal",     "aten::expand",         "aten::movedim",
    "aten::narrow",    "aten::permute",      "aten::select",  "aten::slice",        "aten::split",          "aten::split_with_sizes",
    "aten::squeeze",   "aten::swapaxes",     "aten::t",       "aten::transpose",    "aten::unbind",         "aten::unfold",
    "aten::unsqueeze", "aten::view",         "aten::view_as", "aten::_unsafe_view", "aten::_reshape_alias", "aten::unflatten",
    "aten::expand_as", "aten::tensor_split", "aten::real",    "aten::imag"};

template <class List>
bool holds(const List& list, std::string_view name) {
  for (const std::string_view one : list) {
    if (one == name) return true;
  }
  return false;
}

// Outputs of collectives are arguments that no schema declares as such; of fsdp's own operators likewise, one of which gathers what
// another one splits.
bool is_output_by_name(std::string_view operator_name, std::string_view argument) {
  if (starts_with(operator_name, "fsdp::")) {
    return starts_with(argument, "output") || (operator_name == "fsdp::all_gather_copy_in" && argument == "all_gather_output");
  }
  if (!starts_with(operator_name, "c10d::")) return false;
  const bool receives = starts_with(operator_name, "c10d::recv") && argument == "tensors";
  return receives || starts_with(argument, "output") || argument == "all_gather_output";
}

// Bit n: all of argument n is written and nothing of it read.
uint64_t overwritten_by(std::string_view name, const c10::FunctionSchema& schema) {
  uint64_t bits = 0;
  const size_t count = std::min<size_t>(schema.arguments().size(), 64);
  for (size_t i = 0; i < count; ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const bool overwritten = argument.is_out() || (i == 0 && holds(kOverwriting, name)) || is_output_by_name(name, argument.name());
    if (overwritten) bits |= uint64_t{1} << i;
  }
  return bits;
}

bool declares_write(const c10::Argument& argument) { return argument.alias_info() != nullptr && argument.alias_info()->isWrite(); }

// Bit n: the schema says that argument n is written.
uint64_t written_by(const c10::FunctionSchema& schema) {
  uint64_t bits = 0;
  const size_t count = std::min<size_t>(schema.arguments().size(), 64);
  for (size_t i = 0; i < count; ++i) {
    if (declares_write(schema.arguments()[i])) bits |= uint64_t{1} << i;
  }
  return bits;
}

uint32_t flags_of(std::string_view name, const c10::FunctionSchema& schema) {
  uint32_t flags = 0;
  for (const c10::Argument& argument : schema.returns()) {
    if (argument.alias_info() != nullptr && !argument.alias_info()->isWrite()) flags |= TENSORTAP_TORCH_OP_VIEW;
  }
  const bool unwritten = starts_with(name, "aten::empty") || starts_with(name, "aten::new_empty") || name == "aten::resize_" ||
                         name == "aten::_empty_affine_quantized";
  if (unwritten) flags |= TENSORTAP_TORCH_OP_UNWRITTEN;
  if (holds(kIntendedInfinity, name)) flags |= TENSORTAP_TORCH_OP_INTENDED_INF;
  if (holds(kSeesValue, name)) flags |= TENSORTAP_TORCH_OP_SEES_VALUE;
  if (holds(kTestsValue, name)) flags |= TENSORTAP_TORCH_OP_TESTS_VALUE;
  if (name == "aten::ones_like") flags |= TENSORTAP_TORCH_OP_SEES_LOSS;
  if (name == "aten::lift_fresh" || name == "aten::lift") flags |= TENSORTAP_TORCH_OP_HOST_FILLED;
  const bool as_other_type = name == "aten::view" && schema.overload_name() == "dtype";
  if (holds(kRearranging, name) && !as_other_type) flags |= TENSORTAP_TORCH_OP_REARRANGES;
  if (is_collective(name)) flags |= TENSORTAP_TORCH_OP_COLLECTIVE;
  return flags;
}

// Whether it makes values, and not only memory or views of memory.
bool computes_values(std::string_view name, uint32_t flags) {
  constexpr std::array<std::string_view, 7> kArranging = {"aten::resize_",         "aten::resize_as_",  "aten::set_",
                                                          "aten::_resize_output_", "aten::as_strided_", "aten::_reshape_alias",
                                                          "aten::detach"};
  return (flags & (TENSORTAP_TORCH_OP_VIEW | TENSORTAP_TORCH_OP_UNWRITTEN)) == 0 && !holds(kArranging, name);
}

constexpr std::array<std::string_view, 8> kMoving = {"aten::copy_",    "aten::fill_",      "aten::zero_", "aten::clone",
                                                     "aten::_to_copy", "aten::contiguous", "aten::zeros", "aten::zeros_like"};

// "Tensor", "Tensor?", "Tensor[]" and the like.
bool takes_tensors(const c10::Argument& argument) { return argument.type()->str().find("Tensor") != std::string::npos; }

uint32_t describe_schema(const c10::FunctionSchema& schema) {
  std::vector<const char*> names;
  for (const c10::Argument& argument : schema.arguments()) names.push_back(takes_tensors(argument) ? argument.name().c_str() : "");
  while (!names.empty() && *names.back() == '\0') names.pop_back();
  tensortap_torch_op op{};
  op.size = sizeof op;
  op.flags = flags_of(schema.name(), schema);
  op.name = schema.name().c_str();
  op.overload = schema.overload_name().c_str();
  op.argument_names = names.data();
  op.argument_count = static_cast<uint32_t>(names.size());
  op.return_count = static_cast<uint32_t>(schema.returns().size());
  op.overwritten = overwritten_by(schema.name(), schema);
  op.written = written_by(schema);
  return describer->describe_op(&op);
}

bool is_returned(const c10::FunctionSchema& schema, const c10::Argument& argument) {
  if (argument.alias_info() == nullptr) return false;
  for (const c10::Argument& result : schema.returns()) {
    if (result.alias_info() != nullptr && result.alias_info()->beforeSets() == argument.alias_info()->beforeSets()) return true;
  }
  return false;
}

void fill_from_schema(const c10::OperatorHandle& handle, OperatorFacts& facts) {
  using c10::DispatchKey;
  const c10::FunctionSchema& schema = handle.schema();
  facts.has_schema = true;
  facts.schema = &schema;
  facts.arguments = static_cast<uint32_t>(schema.arguments().size());
  facts.returns = static_cast<uint32_t>(schema.returns().size());
  for (const c10::Argument& argument : schema.arguments()) {
    const bool written =
        declares_write(argument) || writes_undeclared(facts.name, argument.name()) || is_output_by_name(facts.name, argument.name());
    if (argument.name() == "non_blocking") facts.non_blocking = static_cast<int32_t>(facts.written.size());
    facts.written.push_back(written ? 1 : 0);
    if (written && !is_returned(schema, argument)) facts.reads_back = true;
  }
  const auto has = [&handle](DispatchKey key) { return handle.hasKernelForDispatchKey(key); };
  const bool composite = has(DispatchKey::CompositeImplicitAutograd);
  facts.composite_on_cpu = composite && !has(DispatchKey::CPU);
  facts.composite_on_device = composite && !has(DispatchKey::CUDA) && !has(DispatchKey::PrivateUse1);
  facts.autocast_on_cpu = has(DispatchKey::AutocastCPU);
  facts.autocast_on_device = has(DispatchKey::AutocastCUDA) || has(DispatchKey::AutocastPrivateUse1);
  facts.collective = is_collective(facts.name);
  facts.waits = waits_for_collective(facts.name);
  facts.computes = computes_values(facts.name, flags_of(facts.name, schema));
  facts.only_moves = holds(kMoving, facts.name);
  facts.id = describe_schema(schema);
}

OperatorFacts* make_facts(const at::RecordFunction& record) {
  auto* facts = new OperatorFacts;
  facts->name = record.name();
  const auto name = record.operator_name();
  if (!name || starts_with(facts->name, "tensortap::")) return facts;
  const auto handle = c10::Dispatcher::singleton().findSchema(*name);
  if (handle) fill_from_schema(*handle, *facts);
  return facts;
}

// A schema's name stays where it is as long as the operator is registered; the text of other records moves.
bool is_of(const OperatorFacts& facts, const char* name) { return std::strcmp(facts.name.c_str(), name) == 0; }

// Facts by the address of the name. They are never freed: threads keep pointers to them.
const OperatorFacts& shared_facts(const at::RecordFunction& record) {
  static auto& mutex = *new std::mutex;
  static auto& table = *new std::unordered_map<const void*, OperatorFacts*>;
  static auto& annotations = *new std::unordered_map<std::string, OperatorFacts*>;
  const std::lock_guard lock(mutex);
  const char* name = record.name();
  if (const auto found = table.find(name); found != table.end() && is_of(*found->second, name)) return *found->second;
  if (const auto found = annotations.find(name); found != annotations.end()) return *found->second;
  OperatorFacts* facts = make_facts(record);
  if (facts->has_schema) {
    table[name] = facts;
  } else {
    annotations.emplace(facts->name, facts);
  }
  return *facts;
}

}  // namespace

void set_tracker_for_facts(const tensortap_torch_tracker* given) { describer = given; }

int64_t find_op(const char* name, const char* overload) {
  const auto handle = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!handle) return -1;
  static auto& mutex = *new std::mutex;
  static auto& described = *new std::unordered_map<std::string, uint32_t>;
  const std::lock_guard lock(mutex);
  const auto [found, added] = described.try_emplace(std::string(name) + "." + overload, 0);
  if (added) found->second = describe_schema(handle->schema());
  return found->second;
}

const OperatorFacts& facts_of(const at::RecordFunction& record) {
  constexpr size_t kSlots = 1024;
  struct Slot {
    const char* name;
    const OperatorFacts* facts;
  };
  static thread_local std::array<Slot, kSlots> recent{};
  const char* name = record.name();
  Slot& slot = recent[(reinterpret_cast<uintptr_t>(name) * 0x9E3779B97F4A7C15U >> 32U) % kSlots];
  if (slot.name == name && is_of(*slot.facts, name)) return *slot.facts;
  slot = {name, &shared_facts(record)};
  return *slot.facts;
}

}  // namespace tensortap::torch_adapter
