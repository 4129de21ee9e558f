#include "source/onnxruntime/program/foreign_session.h"

#include <optional>
#include <utility>

#include "base/message.h"
#include "base/text.h"
#include "source/onnxruntime/model/tapped_model.h"
#include "source/onnxruntime/model/weights_key.h"
#include "source/onnxruntime/origins/channel_block.h"
#include "source/onnxruntime/origins/origins.h"
#include "source/onnxruntime/program/exec_capture.h"
#include "source/onnxruntime/run/session_facts.h"
#include "source/onnxruntime/runtime/runtime_library.h"
#include "source/onnxruntime/taps/executed_graph.h"
#include "source/onnxruntime/taps/external_files.h"
#include "source/onnxruntime/taps/failure_finder.h"
#include "source/onnxruntime/taps/graph_constants.h"
#include "source/onnxruntime/taps/plain_twin.h"
#include "source/onnxruntime/taps/session_lines.h"
#include "tensortap/asking.h"

namespace tensortap::onnxruntime {
namespace {

// Each failing load names one more value whose type a tap cannot take.
constexpr int kMaxForeignRemedies = 200;
constexpr const char* kNoTaps = "the runtime made no session with taps of the model";
constexpr const char* kCompiled = "an execution provider compiled ops of the model: use CPUExecutionProvider alone to capture them";

const char* reason_of(const Status& failure) { return failure.message().find("compiled nodes") == std::string::npos ? kNoTaps : kCompiled; }

// The graph that runs, and the names of its ops. The models are views into the bytes.
struct ExecutedGraph {
  OptimizedModel pass;
  AuthorGraph author;
  std::string folder;  // of weights that are not in the bytes; "" = there are none
  Model executed;
  BlockedGraph blocks;
  OpTable ops;
};

// Older releases find files only beside a model file, and the tapped model is none.
bool finds_weights_apart(const ForeignModel& model) {
  constexpr int kFolderEntryRelease = 21;
  return minor_release(model.runtime) >= kFolderEntryRelease;
}

Result<OptimizedModel> optimise(SessionMaker& maker, int32_t level, PassWeights weights) {
  PassFiles files(weights);
  Status made;
  {
    const UsedLines lines(level == kProgramLevel ? LinesUse::kKeep : LinesUse::kDrop);
    made = maker.optimise(level, files);
  }
  auto model = made.ok() ? files.take_model() : Result<OptimizedModel>(made);
  if (const auto other = instead_of(weights); !model.ok() && other.has_value()) return optimise(maker, level, *other);
  return model;
}

Status read_author_of(SessionMaker& maker, const ForeignModel& model, AuthorGraph& author) {
  if (is_ort_format(model.bytes)) {
    TENSORTAP_ASSIGN_OR_RETURN(const OptimizedModel pass, optimise(maker, abi::kOptimizeNone, PassWeights::kDropped));
    TENSORTAP_RETURN_IF_ERROR(read_author(pass.bytes, model.name(), author));
    author.has_weights_in_files = false;
    return {};
  }
  TENSORTAP_RETURN_IF_ERROR(read_author(model.bytes, model.name(), author));
  if (model.file != nullptr) model.file->release_memory();
  return {};
}

Status read_graphs(SessionMaker& maker, const ForeignModel& model, ExecutedGraph& graph) {
  TENSORTAP_RETURN_IF_ERROR(read_author_of(maker, model, graph.author));
  const PassWeights weights = finds_weights_apart(model) ? graph.author.weights_apart() : PassWeights::kInside;
  TENSORTAP_ASSIGN_OR_RETURN(graph.pass, optimise(maker, kProgramLevel, weights));
  TENSORTAP_ASSIGN_OR_RETURN(graph.executed, read_executed_model(graph.pass.bytes, graph.author.model));
  graph.folder = graph.pass.external_folder.empty() ? model.folder : graph.pass.external_folder;
  return {};
}

Status name_ops(SessionMaker& maker, ExecutedGraph& graph) {
  LowerLevels levels(kProgramLevel, [&](int32_t level) -> Result<std::string> {
    TENSORTAP_ASSIGN_OR_RETURN(OptimizedModel pass, optimise(maker, level, graph.author.weights_dropped()));
    return std::move(pass.bytes);
  });
  if (has_blocked_images(graph.executed)) {
    TENSORTAP_ASSIGN_OR_RETURN(const uint32_t block, maker.channel_block());
    graph.blocks = find_blocks(graph.executed, graph.author.model, levels, block);
  }
  const std::vector<NodeOrigin> origins = find_origins(graph.executed, graph.author.model, levels);
  graph.ops = build_op_table(graph.executed, origins, &graph.blocks);
  mark_constants(graph.author.model, origins, graph.ops);
  return {};
}

// Loads until the types of all values are such that taps can take them.
Result<std::shared_ptr<TapGraph>> load_with_taps(SessionMaker& maker, const ExecutedGraph& executed, bool reads,
                                                 std::vector<UntappedValue>& untapped) {
  const std::string folder = external_files(executed.executed.graph).empty() ? "" : executed.folder;
  TypeRemedies remedies;
  for (int attempt = 0; attempt < kMaxForeignRemedies; ++attempt) {
    const int64_t number = PublishedGraph::next_number();
    TENSORTAP_ASSIGN_OR_RETURN(TappedModel tapped, add_taps(executed.executed, remedies,
                                                            {.inputs = true, .graph = number, .reads = reads, .blocks = &executed.blocks}));
    auto graph = std::make_shared<TapGraph>(std::move(tapped.taps));
    const PublishedGraph published(number, graph);
    const UsedLines lines(LinesUse::kDrop);
    const Status loaded = maker.load(tapped.bytes, folder);
    untapped = std::move(tapped.untapped);
    if (loaded.ok()) return graph;
    if (!learn_remedy(loaded.message(), remedies)) return loaded;
  }
  return internal_error("too many values have types that a tap cannot take");
}

// OK when the maker made a twin; otherwise why there is none.
Status load_twin(SessionMaker& maker, const ExecutedGraph& executed) {
  if (const std::string state = state_between_runs(executed.executed.graph); !state.empty()) return unsupported(state);
  const UsedLines lines(LinesUse::kDrop);
  return maker.load_twin(executed.executed.bytes, external_files(executed.executed.graph).empty() ? "" : executed.folder);
}

// The lines that the program's own session would have logged. Of details only such a session tells all.
void print_lines(SessionMaker& maker) {
  std::vector<LogLine> lines;
  {
    KeptLines kept = take_kept_lines();
    lines = std::move(kept.lines);
    if (kept.detailed) {
      const UsedLines own(LinesUse::kKeep);
      if (maker.make_plain().ok()) lines = lines_of_session(lines, take_kept_lines().lines);
    }
  }
  for (const LogLine& line : lines) send(line);
}

DumpRequest dump_request(const ForeignModel& model) {
  DumpRequest request;
  request.model = model.path;
  request.runtime = model.runtime;
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
  release_free_memory();
  DumpRequest request = dump_request(model);
  request.weights = weights_key(graph.executed, graph.folder);
  request.weights_folder = graph.folder;
  request.author = model.bytes;
  request.author_folder = model.folder;
  request.blocks = &graph.blocks;
  request.facts = runtime_facts(graph.executed, loaded_runtime_path(), {});
  TENSORTAP_ASSIGN_OR_RETURN(const std::shared_ptr<ModelDump> dump, capture->dump_of(graph.ops, request));
  if (!dump->wants_anything()) return std::shared_ptr<ForeignSession>();
  std::vector<UntappedValue> untapped;
  auto taps = load_with_taps(maker, graph, tensortap_wants_reads(dump->session()) != 0, untapped);
  if (!taps.ok()) {
    dump->nothing_captured(reason_of(taps.status()));
    why.counted = true;
    return taps.status();
  }
  for (const UntappedValue& value : untapped) dump->value_not_captured(value);
  (*taps)->tracker.set_listener(dump.get());
  std::shared_ptr<ForeignSession> session(new ForeignSession(*std::move(taps), dump));
  session->state_ = state_between_runs(graph.executed.graph);
  if (tensortap_skips_steps(dump->session()) != 0) {
    const Status twin = load_twin(maker, graph);
    session->has_twin_ = twin.ok();
    dump->twins().set_reason(twin.message());
  }
  print_lines(maker);
  return session;
}

bool ForeignSession::compares_kinds() const { return tensortap_compares_kinds(dump_->session()) != 0; }

ForeignSession::AnnouncedRun::AnnouncedRun(const std::shared_ptr<ForeignSession>& session, uint64_t kind)
    : session_(session), announcement_(session->graph_->tracker, run_) {
  run_.awaits = session_->dump_.get();
  run_.kind = kind;
}

bool ForeignSession::AnnouncedRun::goes_to_twin() {
  if (!session_->has_twin_) return false;
  begin();
  run_.by_twin = run_.listener == nullptr;
  return run_.by_twin;
}

ForeignSession::AnnouncedRun::~AnnouncedRun() {
  if (refused_) return;
  begin();
  if (failure_ != nullptr) report_failure("the run was not made once more");
  session_->dump_->run_ends(run_);
}

void ForeignSession::AnnouncedRun::begin() {
  if (run_.awaits != nullptr) std::exchange(run_.awaits, nullptr)->run_begins(run_);
}

// An op that failed, and the run that is made once more.
struct ForeignSession::AnnouncedRun::Failure {
  uint32_t entry = kNoEntry;
  std::string message;
  std::unique_ptr<ValueKeeper> keeper;
  Run again;
  std::optional<RunTracker::Announcement> announcement;
};

bool ForeignSession::AnnouncedRun::failed(std::string_view message, std::string_view obstacle) {
  const uint32_t last = run_.last_tap;
  // The message names the op that failed, where one did.
  refused_ = last == UINT32_MAX && node_in_message(message).type.empty();
  if (refused_) {
    if (run_.awaits == nullptr) session_->dump_->run_refused(run_);
    return false;
  }
  begin();
  const std::vector<Tap>& taps = session_->graph_->taps;
  const bool ran = last < taps.size() && !taps[last].graph_input;
  const uint32_t entry = session_->dump_->failed_entry(ran ? taps[last].node : UINT32_MAX, message);
  if (entry == kNoEntry) return false;
  failure_ = std::make_unique<Failure>();
  failure_->entry = entry;
  failure_->message = message;
  const std::string_view why_not = session_->state_.empty() ? obstacle : std::string_view(session_->state_);
  if (why_not.empty()) failure_->keeper = session_->dump_->keeper_for_failed(entry);
  if (failure_->keeper == nullptr) {
    report_failure(why_not);
    return false;
  }
  failure_->again.listener = failure_->keeper.get();
  failure_->announcement.emplace(session_->graph_->tracker, failure_->again);
  return true;
}

void ForeignSession::AnnouncedRun::ran_again(std::string_view message) {
  if (failure_ == nullptr) return;
  const bool same = message == failure_->message;
  if (!same) failure_->keeper.reset();
  report_failure(same ? "" : "the run ended differently when it was made once more");
}

void ForeignSession::AnnouncedRun::report_failure(std::string_view why_not) {
  failure_->announcement.reset();
  session_->dump_->op_failed(run_, failure_->entry, failure_->message, failure_->keeper.get(), why_not);
  failure_.reset();
}

void account_for_uncaptured(const ForeignModel& model, const Uncaptured& why) {
  if (why.reason.ok()) return;
  const char* const reason = reason_of(why.reason);
  say(concat(model.name(), " runs uncaptured: ", reason == kCompiled ? reason : why.reason.message()));
  ExecCapture* capture = ExecCapture::of_process();
  const auto author = read_model(model.bytes, model.name());
  if (capture == nullptr || why.counted || !author.ok()) return;
  const OpTable ops = build_op_table(*author, trace_origins(*author, *author));
  DumpRequest request = dump_request(model);
  request.sends_weights = false;
  const auto dump = capture->dump_of(ops, request);
  if (dump.ok()) (*dump)->nothing_captured(reason);
}

}  // namespace tensortap::onnxruntime
