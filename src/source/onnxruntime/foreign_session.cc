#include "source/onnxruntime/foreign_session.h"

#include <utility>

#include "base/message.h"
#include "base/text.h"
#include "source/onnxruntime/channel_block.h"
#include "source/onnxruntime/exec_capture.h"
#include "source/onnxruntime/failure_finder.h"
#include "source/onnxruntime/origins.h"
#include "source/onnxruntime/tapped_model.h"

namespace tensortap::onnxruntime {
namespace {

// Each failing load names one more value whose type a tap can not take.
constexpr int kMaxForeignRemedies = 200;

// The graph that runs and what its ops are called. The models are views into the bytes.
struct ExecutedGraph {
  std::string bytes;
  std::string author_bytes;  // of a ".ort" model only
  Model executed;
  Model author;
  OpTable ops;
  uint32_t channel_block = 0;
};

Status read_graphs(SessionMaker& maker, const ForeignModel& model, ExecutedGraph& graph) {
  TENSORTAP_ASSIGN_OR_RETURN(graph.bytes, maker.optimise(kProgramLevel));
  TENSORTAP_ASSIGN_OR_RETURN(graph.executed, read_model(graph.bytes, "the optimised model"));
  std::string_view author = model.bytes;
  if (is_ort_format(author)) {
    TENSORTAP_ASSIGN_OR_RETURN(graph.author_bytes, maker.optimise(abi::kOptimizeNone));
    author = graph.author_bytes;
  }
  TENSORTAP_ASSIGN_OR_RETURN(graph.author, read_model(author, model.name()));
  return {};
}

Status name_ops(SessionMaker& maker, ExecutedGraph& graph) {
  if (has_blocked_convolutions(graph.executed)) {
    TENSORTAP_ASSIGN_OR_RETURN(graph.channel_block, maker.channel_block());
  }
  const auto optimise = [&maker](int32_t level) { return maker.optimise(level); };
  graph.ops = build_op_table(graph.executed, find_origins(graph.executed, graph.author, kProgramLevel, optimise));
  return {};
}

// Loads until the types of all values are such that taps can take them.
Result<std::shared_ptr<TapGraph>> load_with_taps(SessionMaker& maker, const Model& executed, bool reads,
                                                 std::vector<UntappedValue>& untapped) {
  TypeRemedies remedies;
  for (int attempt = 0; attempt < kMaxForeignRemedies; ++attempt) {
    const int64_t number = PublishedGraph::next_number();
    TENSORTAP_ASSIGN_OR_RETURN(TappedModel tapped, add_taps(executed, remedies, {.inputs = true, .graph = number, .reads = reads}));
    auto graph = std::make_shared<TapGraph>(std::move(tapped.taps));
    const PublishedGraph published(number, graph);
    const Status loaded = maker.load(tapped.bytes);
    untapped = std::move(tapped.untapped);
    if (loaded.ok()) return graph;
    if (!learn_remedy(loaded.message(), remedies)) return loaded;
  }
  return internal_error("too many values have types that a tap can not take");
}

DumpRequest dump_request(const ForeignModel& model) {
  DumpRequest request;
  request.model = model.path;
  request.runtime = model.runtime;
  request.weights_folder = model.folder;
  return request;
}

}  // namespace

std::shared_ptr<ForeignSession> ForeignSession::make(SessionMaker& maker, const ForeignModel& model, Uncaptured& why) {
  auto session = try_to_make(maker, model, why);
  why.reason = session.status();
  return session.ok() ? *std::move(session) : nullptr;
}

Result<std::shared_ptr<ForeignSession>> ForeignSession::try_to_make(SessionMaker& maker, const ForeignModel& model, Uncaptured& why) {
  ExecCapture* capture = ExecCapture::of_process();
  if (capture == nullptr) return std::shared_ptr<ForeignSession>();
  ExecutedGraph graph;
  TENSORTAP_RETURN_IF_ERROR(read_graphs(maker, model, graph));
  TENSORTAP_RETURN_IF_ERROR(name_ops(maker, graph));
  DumpRequest request = dump_request(model);
  request.channel_block = graph.channel_block;
  TENSORTAP_ASSIGN_OR_RETURN(const std::shared_ptr<ModelDump> dump, capture->dump_of(graph.ops, request));
  if (!dump->wants_anything()) return std::shared_ptr<ForeignSession>();
  std::vector<UntappedValue> untapped;
  auto taps = load_with_taps(maker, graph.executed, tensortap_wants_reads(dump->session()) != 0, untapped);
  if (!taps.ok()) {
    dump->nothing_captured();
    why.counted = true;
    return taps.status();
  }
  for (const UntappedValue& value : untapped) dump->value_not_captured(value);
  (*taps)->tracker.set_listener(dump.get());
  return std::shared_ptr<ForeignSession>(new ForeignSession(*std::move(taps), dump));
}

ForeignSession::AnnouncedRun::AnnouncedRun(const std::shared_ptr<ForeignSession>& session)
    : session_(session), announcement_(session->graph_->tracker, run_) {
  run_.awaits = session_->dump_.get();
}

ForeignSession::AnnouncedRun::~AnnouncedRun() {
  if (refused_) return;
  begin();
  session_->dump_->run_ends(run_);
}

void ForeignSession::AnnouncedRun::begin() {
  if (run_.awaits != nullptr) std::exchange(run_.awaits, nullptr)->run_begins(run_);
}

void ForeignSession::AnnouncedRun::failed(std::string_view message) {
  const uint32_t last = run_.last_tap;
  // The message names the op that failed, where one did.
  refused_ = last == UINT32_MAX && node_in_message(message).type.empty();
  if (refused_) return;
  begin();
  const std::vector<Tap>& taps = session_->graph_->taps;
  const bool ran = last < taps.size() && !taps[last].graph_input;
  session_->dump_->run_failed(run_, ran ? taps[last].node : UINT32_MAX, message);
}

void account_for_uncaptured(const ForeignModel& model, const Uncaptured& why) {
  if (why.reason.ok()) return;
  say(concat(model.name(), " runs uncaptured: ", why.reason.message()));
  ExecCapture* capture = ExecCapture::of_process();
  const auto author = read_model(model.bytes, model.name());
  if (capture == nullptr || why.counted || !author.ok()) return;
  const OpTable ops = build_op_table(*author, trace_origins(*author, *author));
  DumpRequest request = dump_request(model);
  request.weights = false;
  const auto dump = capture->dump_of(ops, request);
  if (dump.ok()) (*dump)->nothing_captured();
}

}  // namespace tensortap::onnxruntime
