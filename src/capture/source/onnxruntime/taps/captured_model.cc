#include "source/onnxruntime/taps/captured_model.h"

#include <unordered_set>

#include "base/text.h"
#include "source/onnxruntime/origins/channel_block.h"
#include "source/onnxruntime/taps/executed_graph.h"
#include "source/onnxruntime/taps/external_files.h"
#include "source/onnxruntime/taps/graph_constants.h"

namespace tensortap::onnxruntime {
namespace {

// Each failing load names one more value whose type a tap cannot take.
constexpr int kMaxRemedies = 200;

}  // namespace

SessionSettings settings_of_executed(const PreparedModel& model, const std::string& profile_prefix) {
  SessionSettings settings;
  // The graph is optimised already. As written, the user's level applies to the author's graph with the taps in it.
  settings.level = model.options().as_written ? model.options().level : abi::kOptimizeNone;
  settings.threads = model.options().threads;
  settings.extras = model.options().extras;
  settings.external_folder = model.external_folder();
  settings.profile_prefix = profile_prefix;
  // Even with everything off, each consumer of a DequantizeLinear, taps included, would get a separate copy.
  if (!model.options().as_written) settings.entries.emplace_back("session.disable_quant_qdq", "1");
  return settings;
}

std::vector<ValueInfo> required_inputs(const Graph& graph) {
  std::unordered_set<std::string_view> weights;
  for (const Initializer& initializer : graph.initializers) weights.insert(initializer.name);
  std::vector<ValueInfo> inputs;
  for (const ValueInfo& input : graph.inputs) {
    if (!weights.contains(input.name)) inputs.push_back(input);
  }
  return inputs;
}

// The author's weights do not matter when the optimised graph runs.
Status PreparedModel::read_author() {
  if (options_.as_written) return read_whole_author();
  if (file_.is_ort_format()) {
    TENSORTAP_ASSIGN_OR_RETURN(
        author_pass_, optimize_model(library_, file_, {abi::kOptimizeNone, options_.threads, options_.extras, PassWeights::kDropped}));
    TENSORTAP_RETURN_IF_ERROR(onnxruntime::read_author(author_pass_.bytes, file_.path(), author_graph_));
    author_graph_.has_weights_in_files = false;
    author_pass_ = {};
    return {};
  }
  TENSORTAP_RETURN_IF_ERROR(onnxruntime::read_author(file_.bytes(), file_.path(), author_graph_));
  file_.release_memory();
  return {};
}

Status PreparedModel::read_whole_author() {
  if (!file_.is_ort_format()) {
    TENSORTAP_ASSIGN_OR_RETURN(author_graph_.model, read_model(file_.bytes(), file_.path()));
    return {};
  }
  TENSORTAP_ASSIGN_OR_RETURN(author_pass_,
                             optimize_model(library_, file_, {abi::kOptimizeNone, options_.threads, options_.extras, PassWeights::kApart}));
  TENSORTAP_ASSIGN_OR_RETURN(author_graph_.model, read_model(author_pass_.bytes, file_.path()));
  return {};
}

Status PreparedModel::read_executed() {
  if (options_.as_written) {
    external_folder_ = file_.is_ort_format() ? author_pass_.external_folder : file_.folder();
    TENSORTAP_ASSIGN_OR_RETURN(executed_, read_model(author().bytes, file_.path()));
    return {};
  }
  TENSORTAP_ASSIGN_OR_RETURN(
      executed_pass_, optimize_model(library_, file_, {options_.level, options_.threads, options_.extras, author_graph_.weights_apart()}));
  external_folder_ = executed_pass_.external_folder;
  TENSORTAP_ASSIGN_OR_RETURN(executed_, read_executed_model(executed_pass_.bytes, author()));
  return {};
}

Status PreparedModel::trace() {
  LowerLevels levels(options_.as_written ? abi::kOptimizeNone : options_.level, [this](int32_t level) -> Result<std::string> {
    TENSORTAP_ASSIGN_OR_RETURN(
        OptimizedModel lower, optimize_model(library_, file_, {level, options_.threads, options_.extras, author_graph_.weights_dropped()}));
    return std::move(lower.bytes);
  });
  if (has_blocked_images(executed_)) {
    Result<uint32_t> block = channel_block_of(library_);
    if (!block.ok()) return block.status().with_context("this library's convolutions with channels in blocks");
    blocks_ = find_blocks(executed_, author(), levels, *block);
  }
  const std::vector<NodeOrigin> origins = find_origins(executed_, author(), levels);
  ops_ = build_op_table(executed_, origins, &blocks_);
  mark_constants(author(), origins, ops_);
  return {};
}

Result<std::unique_ptr<PreparedModel>> PreparedModel::prepare(std::shared_ptr<const RuntimeLibrary> library, const ModelOptions& options) {
  std::unique_ptr<PreparedModel> model(new PreparedModel());
  model->library_ = std::move(library);
  model->options_ = options;
  TENSORTAP_ASSIGN_OR_RETURN(model->file_, ModelFile::open(options.path));
  TENSORTAP_RETURN_IF_ERROR(model->read_author());
  TENSORTAP_RETURN_IF_ERROR(model->read_executed().with_context(options.path));
  TENSORTAP_RETURN_IF_ERROR(model->trace());
  model->inputs_ = required_inputs(model->executed_.graph);
  for (const ValueInfo& output : model->executed_.graph.outputs) model->output_names_.emplace_back(output.name);
  release_free_memory();
  return model;
}

Result<std::unique_ptr<InferenceSession>> PreparedModel::open_plain(const std::string& profile_prefix) const {
  SessionSettings settings;
  settings.level = options_.level;
  settings.threads = options_.threads;
  settings.extras = options_.extras;
  settings.profile_prefix = profile_prefix;
  settings.entries.emplace_back("session.load_model_format", file_.is_ort_format() ? "ORT" : "ONNX");
  return InferenceSession::open(library_, file_.path(), {}, settings);
}

Result<std::unique_ptr<TappedSession>> TappedSession::open(const PreparedModel& model, TapStyle style, const std::string& profile_prefix,
                                                           bool reads) {
  std::unique_ptr<TappedSession> tapped(new TappedSession());
  tapped->output_names_ = model.output_names();
  TypeRemedies remedies;
  for (int attempt = 0; attempt < kMaxRemedies; ++attempt) {
    TENSORTAP_ASSIGN_OR_RETURN(TappedModel edited,
                               add_taps(model.executed(), remedies, {.style = style, .reads = reads, .blocks = &model.blocks()}));
    tapped->untapped_ = std::move(edited.untapped);
    tapped->shown_inputs_ = std::move(edited.shown_inputs);
    TENSORTAP_ASSIGN_OR_RETURN(tapped->operators_, TapOperators::create(model.library()->api(), std::move(edited.taps)));
    SessionSettings settings = settings_of_executed(model, profile_prefix);
    settings.domain = tapped->operators_->domain();
    auto session = open_with_external_files(model, edited.bytes, settings, tapped->scratch_);
    if (session.ok()) {
      tapped->session_ = *std::move(session);
      return tapped;
    }
    if (!learn_remedy(session.status().message(), remedies)) return session.status();
  }
  return internal_error("too many values have types that a tap cannot take");
}

RunOutcome TappedSession::run(const std::vector<NamedValue>& inputs, const Run& announced) const {
  RunOutcome outcome{{}, {}, announced};
  const RunTracker::Announcement announcement(operators_->tracker(), outcome.run);
  auto outputs = session_->run(inputs, output_names_);
  outcome.status = outputs.status();
  if (outputs.ok()) outcome.outputs = *std::move(outputs);
  return outcome;
}

}  // namespace tensortap::onnxruntime
