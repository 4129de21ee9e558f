#include "source/pytorch/identity/op_identity.h"

#include <array>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "source/pytorch/python/program_text.h"

namespace tensortap::pytorch {
namespace {

std::vector<std::string> input_names(const TorchOperator& op, const tensortap_torch_call& call, OpIdentity& identity) {
  std::vector<std::string> names = op.arguments;
  for (uint32_t i = 0; i < call.tensor_count; ++i) {
    const tensortap_torch_tensor& tensor = call.tensors[i];
    if (tensor.slot >= names.size() || tensor.element > 0 || tensor.storage_data == nullptr) continue;
    const std::string parameter = parameter_name(tensor.storage_data);
    if (parameter.empty()) continue;
    names[tensor.slot] = parameter;
    identity.input_names.resize(names.size());
    identity.input_names[tensor.slot] = parameter_name_number(tensor.storage_data);
  }
  return names;
}

// "cuda:1": where the first argument is that is not in host memory; "" where all are.
std::string device_of(const tensortap_torch_call& call) {
  for (uint32_t i = 0; i < call.tensor_count; ++i) {
    const tensortap_torch_tensor& tensor = call.tensors[i];
    if (tensor.kind == TENSORTAP_TORCH_DEVICE && tensor.device != nullptr) return concat(tensor.device->name, ":", tensor.device->index);
  }
  return "";
}

Json parsed_arguments(const ReportedArguments& told) {
  if (told.text.empty()) return Json::object();
  const auto parsed = parse_json(told.text, "attributes");
  return parsed.ok() && parsed->is_object() ? *parsed : Json::object();
}

std::string attributes_of(const OpKey& key, const TorchOperator& op, uint32_t pass, Json attributes) {
  if (!op.overload.empty()) attributes["overload"] = op.overload;
  const auto mark = [&](uint32_t flag, const char* name) {
    if ((op.flags & flag) != 0) attributes[name] = true;
  };
  mark(TENSORTAP_TORCH_OP_SEES_VALUE, "sees_value");
  mark(TENSORTAP_TORCH_OP_TESTS_VALUE, "tests_value");
  mark(TENSORTAP_TORCH_OP_SEES_LOSS, "sees_loss");
  mark(TENSORTAP_TORCH_OP_INTENDED_INF, "intended_inf");
  mark(TENSORTAP_TORCH_OP_HOST_FILLED, "host_filled");
  for (uint32_t slot = 0; slot < 64; ++slot) {
    if ((op.overwritten >> slot & 1U) != 0) attributes["overwrites"].push_back(slot);
  }
  // An operator may have an argument of that name, as those of Fourier transforms.
  if (const auto argument = attributes.find("forward"); key.forward != nullptr && argument != attributes.end()) {
    attributes["arguments"]["forward"] = Json(*argument);
  }
  if (key.forward != nullptr) attributes["forward"] = key.forward->name;
  if (pass != 0) attributes["pass"] = pass == TENSORTAP_PHASE_UPDATE ? "update" : "backward";
  return attributes.empty() ? "" : to_json_text(attributes);
}

template <size_t kParts>
size_t hash_of(uint64_t hash, const std::array<uint64_t, kParts>& parts) {
  for (const uint64_t part : parts) hash = (hash ^ part) * 0x9E3779B97F4A7C15U ^ (hash >> 29U);
  return static_cast<size_t>(hash ^ (hash >> 32U));
}

}  // namespace

ReportedArguments arguments_of(const tensortap_torch_call& call, const tensortap_torch_adapter& adapter, bool text) {
  constexpr size_t kMost = 4U << 20U;
  ReportedArguments told;
  if (call.arguments == nullptr) return told;
  if (adapter.arguments_digest != nullptr) told.digest = adapter.arguments_digest(&call);
  if (!text || adapter.attributes == nullptr) return told;
  std::array<char, 4096> small{};
  const size_t length = adapter.attributes(&call, small.data(), small.size());
  if (length < small.size()) {
    told.text.assign(small.data(), length);
  } else if (length < kMost) {
    told.text.resize(length + 1);
    told.text.resize(adapter.attributes(&call, told.text.data(), told.text.size()) == length ? length : 0);
  }
  return told;
}

uint32_t OpIdentity::count_call(int64_t step) {
  const uint64_t base = static_cast<uint64_t>(static_cast<uint32_t>(step)) << 32U;
  uint64_t seen = calls.load(std::memory_order_relaxed);
  while (true) {
    const uint64_t next = (seen >> 32U) == (base >> 32U) ? seen + 1 : base + 1;
    if (calls.compare_exchange_weak(seen, next, std::memory_order_relaxed)) return static_cast<uint32_t>(next - 1);
  }
}

size_t OpKeyHash::operator()(const OpKey& key) const {
  return hash_of(0, std::array{uint64_t{key.op} << 32U | key.module, reinterpret_cast<uintptr_t>(key.position.code),
                               static_cast<uint64_t>(static_cast<uint32_t>(key.position.offset)) << 32U | key.scope,
                               uint64_t{reinterpret_cast<uintptr_t>(key.forward)}, uint64_t{key.level}});
}

size_t OpIdentities::CallHash::operator()(const Call& call) const {
  return hash_of(OpKeyHash()(call.key), std::array{uint64_t{reinterpret_cast<uintptr_t>(call.place.parent)},
                                                   uint64_t{call.place.occurrence} << 8U | call.place.pass << 4U | call.place.model_phase});
}

NameTable::Named NameTable::find_or_add(std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto found = numbers_.find(name);
  if (found == numbers_.end()) {
    names_.emplace_back(name);
    found = numbers_.emplace(names_.back(), static_cast<uint32_t>(names_.size())).first;
  }
  return {names_[found->second - 1], found->second};
}

uint32_t RecentNames::number_of(std::string_view name, NameTable& table) {
  if (name.empty()) return table.number_of(name);
  // Names of autograd's nodes differ in their first letters and in how long they are.
  const size_t middle = static_cast<unsigned char>(name[name.size() / 2]);
  NameTable::Named& slot = slots_[(name.size() * 7 + static_cast<unsigned char>(name.front()) * 3 + middle) % slots_.size()];
  if (slot.number == 0 || slot.name != name) slot = table.find_or_add(name);
  return slot.number;
}

std::string NameTable::name_of(uint32_t number) {
  const std::lock_guard lock(mutex_);
  return number == 0 || number > names_.size() ? "" : names_[number - 1];
}

OpIdentity* RecentOps::find(const OpKey& key, uint64_t generation) const {
  const Slot& slot = slots_[OpKeyHash()(key) % kSlots];
  return slot.generation == generation && slot.key == key ? slot.identity : nullptr;
}

void RecentOps::add(const OpKey& key, uint64_t generation, OpIdentity* identity) {
  slots_[OpKeyHash()(key) % kSlots] = {generation, key, identity};
}

uint32_t OpIdentity::last_call(int64_t step) const {
  const uint64_t seen = calls.load(std::memory_order_relaxed);
  const auto counted = static_cast<uint32_t>(seen);
  return (seen >> 32U) == static_cast<uint32_t>(step) && counted > 0 ? counted - 1 : 0;
}

OpIdentity& OpIdentities::add(OpIdentity*& known, const OpKey& key) {
  known = new OpIdentity;
  const TorchOperator& op = operators_[key.op];
  known->op = key.op;
  known->flags = op.flags;
  known->module = key.forward != nullptr ? key.forward->module : key.module;
  known->position = key.forward != nullptr ? key.forward->position : key.position;
  known->name = name_for(key, op);
  return *known;
}

// Where calls are distinguished by their places, neither the line nor the forward op distinguishes them, nor does an operator's module.
OpIdentity*& OpIdentities::known_of(OpKey key, const CallPlace& place) {
  if (calls_apart_) {
    key.position = {};
    key.forward = nullptr;
    if (key.level != TENSORTAP_LEVEL_MODULE && key.level != TENSORTAP_LEVEL_MODEL) key.module = 0;
  }
  return identities_[{key, place}];
}

OpIdentity& OpIdentities::of(const OpKey& key, const tensortap_torch_call& call, const CallPlace& place, const ReportedArguments* told) {
  const std::lock_guard lock(mutex_);
  OpIdentity*& known = known_of(key, place);
  if (known != nullptr) return *known;
  OpIdentity& identity = add(known, key);
  const TorchOperator& op = operators_[key.op];
  const ReportedArguments arguments = told != nullptr ? *told : arguments_of(call, adapter_, true);
  identity.arguments = arguments.digest;
  Json attributes = parsed_arguments(arguments);
  // Printing first asks which numbers are finite, by x == x, looks at these alone, and then reads all without an operator.
  if (key.position.prints && op.type == "eq") attributes["sees_value"] = true;
  if (const std::string device = device_of(call); !device.empty()) attributes["on_device"] = device;
  const OpDescription texts{source_text(identity.position), attributes_of(key, op, place.pass, std::move(attributes)),
                            input_names(op, call, identity)};
  register_op(identity, key, place, texts);
  return identity;
}

OpIdentity& OpIdentities::of_node(const OpKey& key, const GraphNode& node, const CallPlace& place) {
  const std::lock_guard lock(mutex_);
  OpIdentity*& known = known_of(key, place);
  if (known != nullptr) return *known;
  OpIdentity& identity = add(known, key);
  const auto attributes = parse_json(node.attributes.empty() ? "{}" : node.attributes, "attributes");
  const bool are_known = attributes.ok() && attributes->is_object();
  const OpDescription texts{node.source, attributes_of(key, operators_[key.op], place.pass, are_known ? *attributes : Json::object()),
                            node.inputs};
  register_op(identity, key, place, texts);
  return identity;
}

void OpIdentities::request(DumpRequest request) {
  const std::lock_guard lock(mutex_);
  tensortap_request_op(session_, TENSORTAP_NO_OP, request.enabled ? 1 : 0);
  for (const auto& [call, identity] : identities_) apply(request, *identity);
  requests_.push_back(std::move(request));
}

std::vector<std::string> OpIdentities::requests_in_vain() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> sentences;
  for (const DumpRequest& request : requests_) {
    if (request.fits) continue;
    const std::string what = request.op.empty() ? concat("the module ", quote(request.module)) : quote(request.op);
    sentences.push_back(concat("set_dump() was called for ", what, ", and ",
                               request.op.empty() ? "no op ran in it" : "no operator of this name or type ran"));
  }
  return sentences;
}

void OpIdentities::apply(DumpRequest& request, const OpIdentity& identity) {
  const TorchOperator& op = operators_[identity.op];
  if (!request.op.empty() && request.op != op.type && request.op != op.name) return;
  const std::string module = module_path(identity.module);
  const bool inside = request.module.empty() || module == request.module || module.starts_with(concat(request.module, "."));
  if (!inside) return;
  request.fits = true;
  tensortap_request_op(session_, identity.id, request.enabled ? 1 : 0);
}

// "Net.norm/pow", of a call of the module "Net.norm", of backward "Net.norm/PowBackward0/mul", of an optimizer "AdamW.step/addcdiv_". If
// several ops have one name, at other lines, they get "_1", "_2" in the order in which they appear.
std::string OpIdentities::name_for(const OpKey& key, const TorchOperator& op) {
  std::string name = module_path(key.forward != nullptr ? key.forward->module : key.module);
  const auto append = [&name](std::string_view part) {
    if (!name.empty()) name += '/';
    name += part;
  };
  if (key.scope != 0) append(scopes_.name_of(key.scope));
  // A module's call has the module's own name.
  const bool is_module = key.level == TENSORTAP_LEVEL_MODULE || key.level == TENSORTAP_LEVEL_MODEL;
  if (!is_module || name.empty()) append(op.type);
  const uint32_t before = taken_[name]++;
  return before == 0 ? name : concat(name, "_", before);
}

void OpIdentities::register_op(OpIdentity& identity, const OpKey& key, const CallPlace& place, const OpDescription& texts) {
  const TorchOperator& op = operators_[key.op];
  const std::string module = module_path(identity.module);
  std::vector<const char*> inputs;
  for (const std::string& name : texts.inputs) inputs.push_back(name.c_str());
  tensortap_op described{};
  described.size = sizeof described;
  described.level = key.level;
  // An op without a module is called by itself; optimizers and backward nodes belong to the model that they work for.
  if (identity.module == 0 && key.scope == 0) described.flags |= TENSORTAP_OP_SINGLE;
  described.name = identity.name.c_str();
  described.type = op.type.c_str();
  described.domain = op.name_space.c_str();
  described.graph = "";
  described.module = module.c_str();
  described.source_location = texts.source.empty() ? nullptr : texts.source.c_str();
  const std::string line = program_line(texts.source);
  described.source_text = line.empty() ? nullptr : line.c_str();
  described.inputs = inputs.data();
  described.input_count = inputs.size();
  described.attributes = texts.attributes.empty() ? nullptr : texts.attributes.c_str();
  described.parent = place.parent == nullptr ? TENSORTAP_NO_OP : place.parent->id;
  described.occurrence = place.occurrence;
  described.model_phase = place.model_phase;
  const char* original = identity.name.c_str();
  described.originals = &original;
  described.original_count = 1;
  identity.id = tensortap_register_op(session_, &described);
  for (DumpRequest& request : requests_) apply(request, identity);
}

}  // namespace tensortap::pytorch
