#include "source/pytorch/identity/operator_table.h"

namespace tensortap::pytorch {

namespace {

TorchOperator* make_operator(const tensortap_torch_op& op) {
  auto* described = new TorchOperator;
  described->name = op.name;
  described->overload = op.overload;
  const size_t colon = described->name.find("::");
  const std::string short_name = colon == std::string::npos ? described->name : described->name.substr(colon + 2);
  described->name_space = colon == std::string::npos ? "" : described->name.substr(0, colon);
  const bool own = described->name_space.empty() || described->name_space == "aten";
  described->type = own ? short_name : described->name_space + "." + short_name;
  for (uint32_t i = 0; i < op.argument_count; ++i) described->arguments.emplace_back(op.argument_names[i]);
  described->returns = op.return_count;
  described->flags = op.flags;
  described->overwritten = op.overwritten;
  described->written = op.written;
  return described;
}

}  // namespace

OperatorTable::~OperatorTable() {
  for (uint32_t i = 0; i < count_; ++i) delete operators_[i].load(std::memory_order_relaxed);
}

uint32_t OperatorTable::add(const tensortap_torch_op& op) {
  const std::lock_guard lock(mutex_);
  if (count_ == kMost) return kMost;
  operators_[count_].store(make_operator(op), std::memory_order_release);
  return count_++;
}

uint32_t OperatorTable::without_schema(const std::string& name) {
  const std::lock_guard lock(names_mutex_);
  const auto [place, is_new] = without_schema_.try_emplace(name, 0);
  if (is_new) {
    tensortap_torch_op op{};
    op.size = sizeof op;
    op.name = name.c_str();
    op.overload = "";
    op.return_count = 1;
    place->second = add(op);
  }
  return place->second;
}

const TorchOperator& OperatorTable::operator[](uint32_t id) const {
  static const auto& unknown = *new TorchOperator{"unknown", "", "unknown", "", {}, 0, 0, 0};
  const TorchOperator* op = id < kMost ? operators_[id].load(std::memory_order_acquire) : nullptr;
  return op == nullptr ? unknown : *op;
}

}  // namespace tensortap::pytorch
