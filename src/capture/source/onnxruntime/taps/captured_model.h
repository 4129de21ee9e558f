// A model made ready for capture: the graph that will run, the names of its ops, and the session with taps.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_CAPTURED_MODEL_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_CAPTURED_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "source/onnxruntime/model/blocked_graph.h"
#include "source/onnxruntime/model/model_file.h"
#include "source/onnxruntime/model/onnx_model.h"
#include "source/onnxruntime/origins/author_weights.h"
#include "source/onnxruntime/runtime/inference_session.h"
#include "source/onnxruntime/runtime/model_options.h"
#include "source/onnxruntime/taps/executed_graph.h"
#include "source/onnxruntime/taps/registered_ops.h"
#include "source/onnxruntime/taps/tap_operator.h"

namespace tensortap::onnxruntime {

// The graph that runs, and the author's. Immutable; its address must not change (the models are views into its own members).
class PreparedModel {
 public:
  // Errors: kNotFound, kCorrupt, kInvalidArgument, with what is wrong with the model.
  static Result<std::unique_ptr<PreparedModel>> prepare(std::shared_ptr<const RuntimeLibrary> library, const ModelOptions& options);
  PreparedModel(const PreparedModel&) = delete;
  PreparedModel& operator=(const PreparedModel&) = delete;
  ~PreparedModel() = default;

  [[nodiscard]] const std::shared_ptr<const RuntimeLibrary>& library() const { return library_; }
  [[nodiscard]] const ModelOptions& options() const { return options_; }
  [[nodiscard]] const ModelFile& file() const { return file_; }
  [[nodiscard]] const Model& author() const { return author_graph_.model; }
  [[nodiscard]] const Model& executed() const { return executed_; }
  [[nodiscard]] const OpTable& ops() const { return ops_; }
  [[nodiscard]] const BlockedGraph& blocks() const { return blocks_; }
  [[nodiscard]] AuthorWeights author_weights() const { return {file_.bytes(), file_.folder()}; }
  [[nodiscard]] const std::string& external_folder() const { return external_folder_; }
  // Inputs that a run must be given: those of the graph without the ones that have a value already.
  [[nodiscard]] const std::vector<ValueInfo>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<std::string>& output_names() const { return output_names_; }

  // The model without taps, as any program would load it. With `profile_prefix`, ORT's own profile is written.
  [[nodiscard]] Result<std::unique_ptr<InferenceSession>> open_plain(const std::string& profile_prefix) const;

 private:
  PreparedModel() = default;
  Status read_author();
  Status read_whole_author();
  Status read_executed();
  Status trace();

  std::shared_ptr<const RuntimeLibrary> library_;
  ModelOptions options_;
  ModelFile file_;
  OptimizedModel author_pass_;  // of a ".ort" file that runs as it is written
  AuthorGraph author_graph_;
  OptimizedModel executed_pass_;
  std::string external_folder_;
  Model executed_;
  BlockedGraph blocks_;
  OpTable ops_;
  std::vector<ValueInfo> inputs_;
  std::vector<std::string> output_names_;
};

// For sessions of the executed graph, with taps or without. With `profile_prefix`, ORT's own profile is written.
SessionSettings settings_of_executed(const PreparedModel& model, const std::string& profile_prefix);

// Inputs that a run must be given: those of the graph without the ones that have a value already.
std::vector<ValueInfo> required_inputs(const Graph& graph);

struct RunOutcome {
  Status status;
  std::vector<OwnedValue> outputs;
  Run run;  // what the tracker knows at its end
};

// The session with taps. Thread-safe: any number of runs at the same time.
class TappedSession {
 public:
  // `reads`: TapOptions.
  static Result<std::unique_ptr<TappedSession>> open(const PreparedModel& model, TapStyle style, const std::string& profile_prefix,
                                                     bool reads = false);

  // Runs with this thread's taps going to `listener` (null = none).
  RunOutcome run(const std::vector<NamedValue>& inputs, const Run& announced) const;

  [[nodiscard]] const std::vector<Tap>& taps() const { return operators_->taps(); }
  [[nodiscard]] const std::vector<UntappedValue>& untapped() const { return untapped_; }
  // The inputs of the graph that taps show again wherever they are read.
  [[nodiscard]] const std::set<std::string, std::less<>>& shown_inputs() const { return shown_inputs_; }
  [[nodiscard]] RunTracker& tracker() const { return operators_->tracker(); }
  [[nodiscard]] const InferenceSession& session() const { return *session_; }

 private:
  TappedSession() = default;
  std::vector<std::string> output_names_;
  std::vector<UntappedValue> untapped_;
  std::set<std::string, std::less<>> shown_inputs_;
  ScratchFolder scratch_;
  std::unique_ptr<TapOperators> operators_;  // before the session, which calls into it until it is gone
  std::unique_ptr<InferenceSession> session_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_CAPTURED_MODEL_H_
