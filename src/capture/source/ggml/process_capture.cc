#include "source/ggml/process_capture.h"

#include <pthread.h>
#include <tensortap/asking.h>

#include <array>
#include <cstdlib>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/job_rank.h"
#include "base/message.h"
#include "base/silenced.h"
#include "base/text.h"
#include "base/wait.h"
#include "source/ggml/graph_report.h"
#include "source/ggml/graph_run.h"
#include "source/ggml/mapped_files.h"
#include "source/ggml/warm_up.h"

namespace tensortap::ggml {
namespace {

// The capture of the process, and the lock for reading the request once. A child of fork() recreates both, since another thread may have
// held the lock.
constinit std::atomic<ProcessCapture*> process_capture{nullptr};
constinit std::atomic<bool> request_read{false};
constinit std::mutex request_mutex;
constinit std::atomic<const uint64_t*> missed_calls{nullptr};

// Different graphs of a process. A program has a few for each model; one that made others all the time would fill the memory.
constexpr size_t kMostPlans = 500;

// Models of a process that the bytes of their weights keep apart. A program may change weights by itself, between computations.
constexpr size_t kMostModels = 32;

constexpr std::string_view kUnseen =
    " computations were not captured: they came while the capture was being loaded, or from a callback within another computation";
constexpr std::string_view kUnplanned = " computations were not captured: the program makes more than 500 different graphs";

// Whether this thread computes a graph that is known about: what ggml calls then is a part of it.
const void*& computing() {
  static thread_local const void* computer = nullptr;
  return computer;
}

class Computing {
 public:
  explicit Computing(const void* computer) { computing() = computer; }
  ~Computing() { computing() = nullptr; }
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;
};

// Begins a step and ends it, also if the computation throws.
class BegunStep {
 public:
  BegunStep(ModelCapture& model, ComputedStep step, uint64_t kind)
      : model_(model), step_(step), wanted_(tensortap_step_begin_kind(model.session, step.step, step.run, kind) != 0) {}
  ~BegunStep() { tensortap_step_end(model_.session, step_.step, step_.run); }
  BegunStep(const BegunStep&) = delete;
  BegunStep& operator=(const BegunStep&) = delete;
  [[nodiscard]] bool wanted() const { return wanted_; }

 private:
  ModelCapture& model_;
  const ComputedStep step_;
  const bool wanted_;
};

std::string stem_of(const std::string& path) {
  const std::string name(file_name(path));
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

// Why modules keep their names.
std::string without_translation(std::string_view architecture) {
  constexpr std::string_view kKept = "--names transformers: modules and weights keep the names of GGUF, since ";
  if (architecture.empty()) return concat(kKept, "no GGUF file is mapped that names the model's architecture");
  return concat(kKept, "the names of the architecture ", quote(architecture), " are not known");
}

// Steps take the same time where the graph is the same and has as many tokens, which the second dimension of its first value counts.
uint64_t kind_of(const std::vector<GgmlTensor>& nodes, uint64_t structure) {
  return structure ^ (nodes.empty() ? 0 : static_cast<uint64_t>(nodes.front().ne()[1]) * 0x9e3779b97f4a7c15U);
}

uint32_t phase_of(const tensortap_ggml_call& call, GraphPlan& plan, const std::vector<GgmlTensor>& nodes) {
  if ((call.flags & TENSORTAP_GGML_WARM_UP) != 0) return TENSORTAP_MODEL_PHASE_WARM_UP;
  return silenced(uint32_t{TENSORTAP_MODEL_PHASE_NONE}, [&] {
    const uint32_t phase = phase_of_batch(plan.model->values, nodes, plan.batch);
    // A warm-up begins with an empty cache. Tokens that are made one by one need not wait for a look at the calls.
    return phase != TENSORTAP_MODEL_PHASE_DECODE && is_in_common_init() ? uint32_t{TENSORTAP_MODEL_PHASE_WARM_UP} : phase;
  });
}

}  // namespace

class ProcessCapture::InsideCapture {
 public:
  explicit InsideCapture(ProcessCapture& capture) : capture_(capture) {
    capture_.inside_.fetch_add(1, std::memory_order_seq_cst);
    open_ = capture_.open_.load(std::memory_order_seq_cst);
  }
  ~InsideCapture() { capture_.inside_.fetch_sub(1, std::memory_order_release); }
  InsideCapture(const InsideCapture&) = delete;
  InsideCapture& operator=(const InsideCapture&) = delete;
  explicit operator bool() const { return open_; }

 private:
  ProcessCapture& capture_;
  bool open_;
};

void ProcessCapture::set_missed(const uint64_t* missed) { missed_calls.store(missed); }

ProcessCapture* ProcessCapture::of_process() {
  if (request_read.load(std::memory_order_acquire)) return process_capture.load(std::memory_order_acquire);
  const std::lock_guard lock(request_mutex);
  if (request_read.load(std::memory_order_acquire)) return process_capture.load(std::memory_order_acquire);
  if (std::optional<ExecRequest> request = read_exec_request(); request.has_value()) {
    static const bool followed = [] {
      pthread_atfork(nullptr, nullptr, begin_anew_after_fork);
      std::atexit(close_at_exit);
      return true;
    }();
    static_cast<void>(followed);
    process_capture.store(new ProcessCapture(*std::move(request)), std::memory_order_release);
  }
  request_read.store(true, std::memory_order_release);
  return process_capture.load(std::memory_order_acquire);
}

// The parent keeps the dumps. Their remains in the child are never freed, since computations in progress may hold them.
void ProcessCapture::begin_anew_after_fork() {
  new (&request_mutex) std::mutex;
  GgmlLibrary::begin_anew_after_fork();
  process_capture.store(nullptr);
  request_read.store(false);
  computing() = nullptr;
}

void ProcessCapture::close_at_exit() {
  ProcessCapture* capture = process_capture.load(std::memory_order_acquire);
  if (capture == nullptr || !capture->open_.exchange(false)) return;
  const bool all_left = wait_for_zero(capture->inside_);
  const uint64_t* missed = missed_calls.load();
  const uint64_t unseen = capture->nested_.load() + (missed == nullptr ? 0 : __atomic_load_n(missed, __ATOMIC_RELAXED));
  const uint64_t unplanned = capture->unplanned_.load();
  for (const auto& model : capture->models_) {
    if (unseen > 0) tensortap_note(model->session, concat(unseen, kUnseen).c_str());
    if (unplanned > 0) tensortap_note(model->session, concat(unplanned, kUnplanned).c_str());
    static_cast<void>(all_left ? tensortap_session_close(model->session) : tensortap_session_flush(model->session));
  }
}

Result<tensortap_session*> ProcessCapture::open_session(const GgmlLibrary& library, const std::string& model) {
  const bool is_first = process_folder_.empty();
  if (is_first) process_folder_ = request_.shared_tree ? request_.out : process_folder(request_);
  const std::string folder = is_first ? process_folder_ : model_folder(request_, process_folder_, model);
  TENSORTAP_ASSIGN_OR_RETURN(const std::string config, config_with_folder(request_, folder));
  const std::string version = library.version();
  const std::string source = version.empty() ? std::string("ggml") : concat("ggml ", version);
  const JobRank rank = job_rank();
  tensortap_session_options options{};
  options.size = sizeof(options);
  options.version = TENSORTAP_CAPTURE_VERSION;
  options.config = config.c_str();
  options.config_name = request_.config_name.c_str();
  options.source = source.c_str();
  options.program = request_.program.c_str();
  options.rank = rank.rank;
  options.world_size = rank.world_size;
  options.flags = TENSORTAP_SESSION_AFTER_ONLY | TENSORTAP_SESSION_CONTENT_UNKNOWN;
  options.model = model.c_str();
  options.model_id = static_cast<uint32_t>(models_.size() + 1);
  tensortap_session* session = nullptr;
  std::array<char, 4096> message{};
  const int code = tensortap_session_open(&options, &session, message.data(), message.size());
  if (code != TENSORTAP_OK) return Status(static_cast<StatusCode>(code), message.data());
  const std::string fact = concat(R"({"library": )", quote(library.path()), R"(, "version": )", quote(version), R"(, "cut": true})");
  tensortap_add_fact(session, "ggml", fact.c_str());
  return session;
}

ModelCapture* ProcessCapture::model_of(GgmlLibrary& library, const void* computer, const std::vector<GgmlTensor>& nodes) {
  const std::vector<ReadWeight> weights = weights_of(library, nodes);
  ModelCapture* of_computer = nullptr;
  if (const auto last = last_models_.find(computer); last != last_models_.end() && &last->second->library == &library)
    of_computer = last->second;
  if (weights.empty() && of_computer != nullptr) return of_computer;
  for (const auto& model : models_) {
    if (&model->library == &library && model->kinship(weights, models_.size() < kMostModels) != ModelCapture::Kinship::kOther)
      return model.get();
  }
  if (failed_) return nullptr;
  std::string name;
  const MappedFiles mapped = MappedFiles::of_process();
  for (size_t i = 0; i < weights.size() && name.empty(); ++i) name = stem_of(mapped.at(weights[i].data).path);
  if (name.empty()) name = model_of_program(request_.program);
  const Result<tensortap_session*> session = open_session(library, name);
  if (!session.ok()) {
    failed_ = true;
    say(concat("nothing is captured of a model that ggml computes: ", session.status().message()));
    return nullptr;
  }
  ModelFiles files;
  files.add_files_of(weights);
  OriginalNames names;
  if (request_.names == "transformers") {
    names = OriginalNames(files.architecture());
    if (!names.are_known()) tensortap_note(*session, without_translation(files.architecture()).c_str());
  }
  return models_.emplace_back(std::make_unique<ModelCapture>(*session, library, std::move(files), names)).get();
}

GraphPlan* ProcessCapture::plan_of(GgmlLibrary& library, const void* computer, const std::vector<GgmlTensor>& nodes) {
  const uint64_t structure = structure_of(nodes);
  const auto [key, contents] = key_of(library, nodes, structure);
  const std::lock_guard lock(mutex_);
  const PlanKey known{&library, key == structure ? computer : nullptr, key, trained_.contains(key) ? 0 : contents};
  if (plans_.size() >= kMostPlans && !plans_.contains(known)) {
    unplanned_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  std::unique_ptr<GraphPlan>& plan = plans_[known];
  if (plan == nullptr) {
    ModelCapture* model = model_of(library, computer, nodes);
    if (model == nullptr) return nullptr;
    plan = model->learn(nodes, structure);
    if (model->writes_weights()) trained_.insert(key);
    plan->structure = structure;
  }
  last_models_[computer] = plan->model;
  return plan.get();
}

int ProcessCapture::compute(const tensortap_ggml_call& call) {
  const void* running = computing();
  if (running != nullptr) {
    if (call.kind == TENSORTAP_GGML_SCHEDULER && running != call.computer) nested_.fetch_add(1, std::memory_order_relaxed);
    return compute_really(call, call.graph);
  }
  const InsideCapture inside(*this);
  GgmlLibrary* library = inside ? silenced(static_cast<GgmlLibrary*>(nullptr),
                                           [&] { return GgmlLibrary::of(reinterpret_cast<const void*>(call.real), call.caller); })
                                : nullptr;
  const Computing marked(call.computer);
  return library == nullptr ? compute_really(call, call.graph) : compute_captured(*library, call);
}

int ProcessCapture::compute_captured(GgmlLibrary& library, const tensortap_ggml_call& call) {
  // Programs may use another plan for each computation.
  const void* computer = call.kind == TENSORTAP_GGML_PLAN ? nullptr : call.computer;
  std::vector<GgmlTensor> nodes;
  GraphPlan* plan = silenced(static_cast<GraphPlan*>(nullptr), [&] {
    library.list_nodes(call.graph, nodes);
    return plan_of(library, computer, nodes);
  });
  if (plan == nullptr) return compute_really(call, call.graph);
  ComputedStep number = plan->model->next_step(computer);
  const BegunStep step(*plan->model, number, kind_of(nodes, plan->structure));
  if (!step.wanted()) return compute_really(call, call.graph);
  number.phase = phase_of(call, *plan, nodes);
  std::optional<GraphReport> report;
  silenced(0, [&] { return report.emplace(*plan, nodes, number), 0; });
  if (!report) return compute_really(call, call.graph);
  const int result = call.kind == TENSORTAP_GGML_SCHEDULER ? compute_by_scheduler(library, call, *plan, nodes, *report)
                                                           : compute_by_backend(library, call, *plan, nodes, *report);
  if (!plan->refused.load()) silenced(0, [&] { return report->finish(), 0; });
  return result;
}

int ProcessCapture::compute_by_scheduler(GgmlLibrary& library, const tensortap_ggml_call& call, GraphPlan& plan,
                                         const std::vector<GgmlTensor>& nodes, GraphReport& report) {
  const Result<OwnCallback> own = library.callback_of(call.computer);
  if (!own.ok()) {
    refuse(plan, nodes, own.status().message());
    return compute_really(call, call.graph);
  }
  const SchedulerRun run(library, nodes, report, call.computer, *own);
  return compute_really(call, call.graph);
}

int ProcessCapture::compute_by_backend(const GgmlLibrary& library, const tensortap_ggml_call& call, GraphPlan& plan,
                                       const std::vector<GgmlTensor>& nodes, GraphReport& report) {
  if (library.cuts_graphs()) return compute_in_pieces(library, call, nodes.size(), report);
  refuse(plan, nodes, "graph that the program gave to a backend, of a copy of ggml that cuts no graphs");
  return compute_really(call, call.graph);
}

void ProcessCapture::refuse(GraphPlan& plan, const std::vector<GgmlTensor>& nodes, const std::string& reason) {
  if (plan.refused.exchange(true)) return;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const PlannedNode& node = plan.nodes[i];
    if (!nodes[i].is_computed()) continue;
    if (node.id != TENSORTAP_NO_OP) tensortap_not_captured(plan.model->session, node.id, reason.c_str());
    for (const PlannedInput& input : node.inputs) tensortap_not_captured(plan.model->session, input.id, reason.c_str());
  }
}

}  // namespace tensortap::ggml
