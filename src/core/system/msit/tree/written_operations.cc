#include "system/msit/tree/written_operations.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <string_view>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "system/msit/tree/tree_names.h"
#include "trace/scoped_name.h"

namespace tensortap::msit {

class RootNumbers {
 public:
  static RootNumbers& of_process() {
    static auto* const kNumbers = new RootNumbers();
    return *kNumbers;
  }
  uint32_t first_free(const std::string& tree) {
    const std::lock_guard lock(mutex_);
    return ends_[tree];
  }
  void take(const std::string& tree, uint32_t number) {
    const std::lock_guard lock(mutex_);
    uint32_t& end = ends_[tree];
    end = std::max(end, number + 1);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, uint32_t> ends_;
};

namespace {

constexpr size_t kLongestKernel = 200;

// Notes from sources to us, which are not parameters of the operator.
constexpr std::array kNotes = {kSeesValue,  kIntendedInfinities, kTestsValue, kSeesLoss,  kHostFilled, kOverwrites,
                               kParameters, kForwardOp,          kOnDevice,   kWatcherOp, kWatchedOp,  kPass};

// Returns the text as it is where nothing has to change: parameters that were read from such a tree are written again byte for byte.
std::string parameters_of(const OpInfo& op) {
  const bool is_module = op.level == Level::kModule && !op.module.empty();
  const auto is_noted = [&op](std::string_view note) { return op.attributes.find(note) != std::string::npos; };
  const bool has_parameters = !op.attributes.empty() && op.attributes != "{}";
  if (!is_module && !(has_parameters && std::ranges::any_of(kNotes, is_noted))) return has_parameters ? op.attributes : "";
  Result<Json> json = parse_json(has_parameters ? op.attributes : "{}", "attributes");
  if (!json.ok() || !json->is_object()) return "";
  for (const std::string_view note : kNotes) json->erase(std::string(note));
  if (is_module) (*json)["module"] = op.module;
  return json->empty() ? "" : to_json_text(*json);
}

// "Backward_" or "Update_" of an operator that the backward pass or an optimizer runs, below no operation of the forward pass.
std::string pass_of(const OpInfo& op) {
  const std::string pass = attribute_text(op, kPass);
  return pass == "backward" ? "Backward_" : pass == "update" ? "Update_" : "";
}

// "0_22377" behind the last slash.
std::string process_of(const OpInfo& op) {
  const std::string name = file_name(op.graph);
  return parse_process_name(name) ? name : "";
}

}  // namespace

Ops::Ops(const std::string& folder, std::string process)
    : process_(std::move(process)),
      roots_(RootNumbers::of_process()),
      name_(concat(folder, "/", process_)),
      first_root_(roots_.first_free(name_)) {}

void Ops::add(OpId id, const OpInfo& info) {
  // An op that was never added takes no number from the others.
  OpInfo gap;
  gap.type = kInputType;
  std::string place_in_tree;
  while (ops_.size() <= id) {
    place_in_tree = tree_.add(ops_.size() == id ? info : gap);
    ops_.emplace_back();
  }
  Op& op = ops_[id];
  op.known = true;
  op.pseudo = is_pseudo_op(info);
  op.process = process_of(info);
  if (op.process.empty()) op.process = folder_of(info);
  op.on_device = has_attribute(info, kOnDevice);
  op.parent = info.parent;
  op.type = pass_of(info) + operation_type(info);
  op.is_kernel = info.level == Level::kKernel;
  if (op.is_kernel || info.level == Level::kOp) op.kernel = identifier(std::string_view(info.type).substr(0, kLongestKernel));
  op.parameters = parameters_of(info);
  if (!op.pseudo) place(op, info.id.empty() ? place_in_tree : info.id);
}

// Next to the operation that it is a part of. The device of a module is not known before that of the first operation in it.
std::string Ops::folder_of(const OpInfo& info) {
  const std::string device = attribute_text(info, kOnDevice);
  const size_t colon = device.rfind(':');
  const bool is_known = colon != std::string::npos;
  const std::string own = is_known ? concat(device.substr(colon + 1), process_.substr(process_.find('_'))) : process_;
  Op* const parent = find(info.parent);
  if (parent == nullptr) return own;
  for (Op* above = parent; is_known && above != nullptr && !above->on_device; above = find(above->parent)) {
    above->process = own;
    above->on_device = true;
  }
  return parent->process;
}

// Below its parent, or among the root operations of the process.
void Ops::place(Op& op, const std::string& id) {
  const size_t end = id.rfind('_');
  std::string number = end == std::string::npos ? id : id.substr(end + 1);
  Op* parent = find(op.parent);
  if (end != std::string::npos && parent != nullptr && !parent->path.empty()) {
    parent->is_leaf = parent->is_leaf && op.is_kernel;
    op.path = concat(parent->path, "/", number, "_", op.type);
    op.ids = concat(parent->ids, "_", number);
    return;
  }
  uint64_t root = 0;
  if (!parse_unsigned(number, root)) root = 0;
  root += first_root_;
  roots_.take(name_, static_cast<uint32_t>(root));
  op.ids = to_text(root);
  op.path = concat(root, "_", op.type);
}

void Ops::decide(OpId id, const OpDecision& decision) {
  if (Op* op = find(id)) op->outputs = decision.outputs && !op->pseudo;
}

}  // namespace tensortap::msit
