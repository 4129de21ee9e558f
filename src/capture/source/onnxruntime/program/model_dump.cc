#include "source/onnxruntime/program/model_dump.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/wait.h"
#include "source/onnxruntime/taps/failure_finder.h"
#include "source/onnxruntime/taps/weight_sender.h"

namespace tensortap::onnxruntime {
namespace {

std::string key_of(const OpEntry& entry) { return concat(entry.name, "\n", entry.type); }

}  // namespace

// A thread that may use the session; false once it is closed.
class ModelDump::Inside {
 public:
  explicit Inside(ModelDump& dump) : dump_(dump) {
    dump_.inside_.fetch_add(1, std::memory_order_seq_cst);
    open_ = dump_.open_.load(std::memory_order_seq_cst);
  }
  ~Inside() { dump_.inside_.fetch_sub(1, std::memory_order_release); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  explicit operator bool() const { return open_; }

 private:
  ModelDump& dump_;
  bool open_;
};

ModelDump::ModelDump(std::unique_ptr<Parts> parts, OpIds ids, const SenderOptions& options)
    : EventSender(parts->session.get(), parts->numbers, std::move(ids), options), parts_(std::move(parts)) {}

std::shared_ptr<ModelDump> ModelDump::create(OwnedSession session, const OpTable& ops, const BlockedGraph& blocks) {
  OpIds ids = register_ops(session.get(), ops);
  auto parts = std::make_unique<Parts>(
      Parts{.session = std::move(session), .numbers = {}, .names = {}, .nodes = {}, .named = {ops, ids}, .reads = {ops, blocks}});
  parts->numbers.by_node = ops.by_node;
  parts->numbers.by_input = ops.by_input;
  for (size_t i = 0; i < ops.entries.size(); ++i) {
    const OpEntry& entry = ops.entries[i];
    parts->names.push_back(key_of(entry));
    if (entry.role == OpRole::kNode) {
      parts->nodes.push_back({std::string(entry.type), std::string(entry.node->name), entry.node->index, ids[i]});
    }
  }
  // How many threads the program's session has cannot be asked; with one, the runtime does in turn what could be done side by side.
  return std::shared_ptr<ModelDump>(new ModelDump(std::move(parts), std::move(ids), {true, blocks.block}));
}

bool ModelDump::has_ops(const OpTable& ops) const {
  const auto same_name = [](const std::string& name, const OpEntry& entry) { return name == key_of(entry); };
  return parts_->numbers.by_node == ops.by_node && parts_->numbers.by_input == ops.by_input &&
         std::ranges::equal(parts_->names, ops.entries, same_name);
}

bool ModelDump::wants_anything() const {
  return std::ranges::any_of(ids(), [this](tensortap_op_id id) { return tensortap_wants_op(session(), id) != 0; });
}

void ModelDump::nothing_captured(const std::string& why) {
  for (const NodeOp& node : parts_->nodes) tensortap_not_captured(session(), node.id, why.c_str());
}

void ModelDump::value_not_captured(const UntappedValue& value) {
  tensortap_not_captured(session(), ids()[parts_->numbers.by_node[value.node]], value.reason.c_str());
}

void ModelDump::send_weights(const OpTable& ops, const BlockedGraph& blocks, const std::string& external_folder, AuthorWeights author) {
  parts_->reads.keep_weights(ops, blocks, external_folder);
  onnxruntime::send_weights(session(), ops, ids(), external_folder, std::move(author));
}

Status ModelDump::set_dump(std::string_view name, bool enabled) {
  const Inside inside(*this);
  if (!inside) return {};
  TENSORTAP_ASSIGN_OR_RETURN(const OpIds found, parts_->named.find(name));
  for (const tensortap_op_id op : found) tensortap_request_op(session(), op, enabled ? 1 : 0);
  return {};
}

bool ModelDump::wants(const Tap& tap, const Run& run) {
  const Inside inside(*this);
  return inside && EventSender::wants(tap, run);
}

void ModelDump::on_tap(const FiredTap& fired, const Run& run) {
  const Inside inside(*this);
  if (inside) EventSender::on_tap(fired, run);
}

void ModelDump::run_begins(Run& run) {
  const Inside inside(*this);
  run.step = refused_step_.exchange(-1, std::memory_order_relaxed);
  if (run.step < 0) run.step = next_step_.fetch_add(1, std::memory_order_relaxed);
  run.number = static_cast<uint64_t>(run.step);
  run.listener = inside && begin(run) ? this : nullptr;
}

void ModelDump::run_ends(const Run& run) {
  const Inside inside(*this);
  if (!inside) return;
  if (run.listener == nullptr) twins_.count(run.by_twin);
  end(run);
}

void ModelDump::run_refused(const Run& run) {
  int64_t none = -1;
  if (refused_step_.compare_exchange_strong(none, run.step)) return;
  // Another thread's was refused too, at the same time: this one stays, a step without ops.
  run_ends(run);
}

uint32_t ModelDump::failed_entry(uint32_t last_node, std::string_view message) const {
  const NamedNode named = node_in_message(message);
  if (named.type.empty()) return kNoEntry;
  uint32_t failed = kNoEntry;
  // Nodes run in the order of the file, so the one that failed follows the last that was done.
  for (const NodeOp& node : parts_->nodes) {
    if (node.type != named.type || node.name != named.name) continue;
    const bool follows = last_node == UINT32_MAX || node.node > last_node;
    if (failed == kNoEntry || follows) failed = parts_->numbers.by_node[node.node];
    if (follows) break;
  }
  return failed;
}

std::unique_ptr<ValueKeeper> ModelDump::keeper_for_failed(uint32_t entry) {
  const Inside inside(*this);
  const std::lock_guard lock(failed_mutex_);
  if (!inside || !failed_.insert(entry).second) return nullptr;
  return parts_->reads.keeper_for(entry, parts_->numbers);
}

void ModelDump::op_failed(const Run& run, uint32_t entry, std::string_view message, ValueKeeper* keeper, std::string_view why_not) {
  const Inside inside(*this);
  if (!inside) return;
  const bool is_known = keeper == nullptr && why_not.empty();
  const KeptReads reads = is_known ? KeptReads() : parts_->reads.reads_of(entry, keeper);
  send_failure(keeper == nullptr ? Api() : keeper->api(), entry, reads.inputs, run, std::string(message));
  const std::lock_guard lock(failed_mutex_);
  if (why_not.empty() || std::exchange(said_why_not_, true)) return;
  tensortap_note(session(), concat("the inputs of failed ops are not kept, except for weights: ", why_not).c_str());
}

void ModelDump::close() {
  if (!open_.exchange(false)) return;
  tensortap_note(session(), twins_.note().c_str());
  if (!wait_for_zero(inside_)) {
    static_cast<void>(tensortap_session_flush(session()));
    static_cast<void>(parts_->session.release());
    return;
  }
  parts_->session.reset();
}

}  // namespace tensortap::onnxruntime
