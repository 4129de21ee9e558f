#include "session/capture_session.h"

#include <algorithm>

#include "base/clock.h"
#include "base/coverage_reasons.h"
#include "base/json.h"
#include "base/left_report.h"
#include "base/text.h"
#include "crash/crash_session.h"
#include "session/event_scope.h"
#include "session/event_view.h"
#include "session/no_layout.h"
#include "session/plan_change.h"
#include "trace/scoped_name.h"
#include "trace/step_documents.h"

namespace tensortap {
namespace {

SinkOptions sink_options(const std::string& folder, const ActivePlan& plan, const LayoutWriter& layout) {
  SinkOptions options;
  options.folder = folder;
  options.limits = plan.spec.limits;
  // Values that the layout only looks at are no part of the dump.
  options.most_data = plan.spec.payload == Payload::kStatistics ? 0 : plan.spec.limits.max_bytes;
  options.full_policy = plan.spec.full_policy;
  // A gate or a ring may hold its records until this thread goes on.
  options.never_waits = plan.spec.trigger == Trigger::kOverflow || plan.spec.limits.ring_ops > 0;
  options.keeps_rows = layout.takes_statistics_on_any_thread() || plan.spec.payload != Payload::kTensor;
  return options;
}

// Whether an execution ends with the event.
bool is_execution(const tensortap_op_event& event) {
  return event.moment == TENSORTAP_MOMENT_AFTER && event.phase != TENSORTAP_PHASE_LOAD && !reads_first(event);
}

bool is_for_ring(const tensortap_op_event& event, const OpEntry& op, const OpDecision& decision, Trigger trigger) {
  switch (trigger) {
    case Trigger::kException:
      return true;
    case Trigger::kOnRequest:
      return !op.requested.load(std::memory_order_relaxed);
    case Trigger::kWatch:
      return !decision.outputs && event.phase != TENSORTAP_PHASE_LOAD;
    default:
      return false;
  }
}

// Children that go on with what the session watches have no part in it.
void account_for_children(uint32_t children, OpRegistry& ops) {
  if (children == 0) return;
  OpInfo info;
  info.name = concat("fork (", children, children == 1 ? " process)" : " processes)");
  info.type = "ForkedProcess";
  if (const OpId op = ops.add(std::move(info)); op != kNoOp) ops.not_captured(op, kReasonForked);
}

}  // namespace

struct CaptureSession::Opened {
  SessionOptions options;
  OutputFolder folder;
  std::unique_ptr<CapturePlan> plan;
  std::unique_ptr<LayoutWriter> layout;
  std::unique_ptr<RequestedPlan> asked = nullptr;
  std::unique_ptr<ContentCache> contents = std::make_unique<ContentCache>();
};

CaptureSession::Follows::Follows(const LayoutParts& parts, bool before_moment)
    : steps(parts.steps != nullptr),
      executions(parts.executions != nullptr),
      first_rounds(parts.first_rounds != nullptr && before_moment),
      first_executions(parts.numbers_ops) {}

CaptureSession::CaptureSession(Opened opened)
    : layout_(std::move(opened.layout)),
      follows_(layout_->parts(), opened.options.before_moment),
      options_(std::move(opened.options)),
      origin_{options_.program,    options_.source, opened.folder.path(), options_.rank,
              options_.world_size, monotonic_ns(),  wall_clock_iso()},
      asked_(std::move(opened.asked)),
      folder_(std::move(opened.folder)),
      pool_(options_.spec.limits.pool_bytes),
      contents_(std::move(opened.contents)),
      ops_(std::make_unique<ActivePlan>(std::move(opened.plan), layout_->parts(), options_.content_known && contents_->reserve(), 0),
           *layout_, problems_),
      admission_(ops_.plan(), follows_.executions),
      sink_({*layout_, pool_, ops_.table(), problems_, admission_.governor(), *contents_},
            sink_options(folder_.path(), ops_.plan(), *layout_)),
      last_ops_(options_.spec.limits.ring_ops, pool_, sink_),
      look_({*contents_, sink_, last_ops_, admission_.governor(), devices_}, options_.spec.trigger == Trigger::kOverflow),
      changes_(asked_ == nullptr ? options_.spec : asked_->opened()) {
  if (options_.spec.trigger == Trigger::kOverflow) {
    overflow_.emplace(OverflowWatch::Parts{look_, sink_, last_ops_, ops_, admission_, *contents_, pool_, devices_}, options_.spec);
  }
  if (options_.spec.trigger == Trigger::kWatch) watch_.emplace(WatchLooks::Parts{look_, sink_, last_ops_, ops_});
}

CaptureSession::~CaptureSession() = default;

std::unique_ptr<CaptureSession> CaptureSession::disabled(std::string why) {
  SessionOptions options;
  options.content_known = false;
  options.spec.limits.pool_bytes = 0;
  auto plan = CapturePlan::compile(options.spec);
  Opened opened{std::move(options), OutputFolder{}, *std::move(plan), std::make_unique<NoLayout>()};
  std::unique_ptr<CaptureSession> session(new CaptureSession(std::move(opened)));
  session->problems_.switch_off(SessionProblems::kFromStart);
  session->origin_.why_disabled = std::move(why);
  return session;
}

Result<std::unique_ptr<CaptureSession>> CaptureSession::open(SessionOptions options) {
  std::unique_ptr<RequestedPlan> asked;
  if (options.asks) {
    TENSORTAP_ASSIGN_OR_RETURN(asked, RequestedPlan::compile(options.spec, plan_environment(options)));
    options.spec = RequestedPlan::widened(std::move(options.spec));
  }
  TENSORTAP_ASSIGN_OR_RETURN(std::unique_ptr<CapturePlan> plan, CapturePlan::compile(options.spec, plan_environment(options)));
  // What waits for another plan must be able to take one.
  if (options.spec.idle) TENSORTAP_RETURN_IF_ERROR(check_plan_change(options.spec, options.spec, *options.layout).with_context("idle"));
  TENSORTAP_ASSIGN_OR_RETURN(OutputFolder folder,
                             options.layout->shares_folder
                                 ? OutputFolder::share(options.spec.out, options.spec.access)
                                 : OutputFolder::create(options.spec.out, options.rank, options.world_size, options.spec.access));
  const Limits& limits = options.spec.limits;
  const DiskGuard disk(folder.path(), keeps_tensors(options.spec) ? limits.free_beside_data() : limits.free_beside_rows());
  if (Status status = disk.check(); !status.ok()) {
    folder.discard();
    return status;
  }
  const DumpInfo info = dump_info(folder.path(), options);
  Result<std::unique_ptr<LayoutWriter>> layout = options.layout->create(info, options.spec);
  if (!layout.ok()) {
    folder.discard();
    return layout.status();
  }
  Opened opened{std::move(options), std::move(folder), std::move(plan), *std::move(layout), std::move(asked)};
  std::unique_ptr<CaptureSession> session(new CaptureSession(std::move(opened)));
  session->problems_.watch_forks();
  const CaptureSpec& spec = session->ops_.plan().spec;
  if (spec.trigger == Trigger::kException || session->last_ops_.has_ring()) {
    // Without it the capture goes on, and reports the problem.
    const CrashSources sources{.ops = &session->ops_.table(),
                               .sequence = session->look_.sequence(),
                               .off = session->problems_.off(),
                               .opened_ns = session->origin_.opened_ns,
                               .rank = session->options_.rank,
                               .with_stack = spec.exception_detail == ExceptionDetail::kDetail,
                               .access = spec.access,
                               .session = crash_session_text(info, spec)};
    const Status recorded = session->last_ops_.record_crashes(session->folder_.path(), sources);
    if (!recorded.ok()) session->problems_.note_problem(recorded.with_context("crashes leave nothing behind"));
  }
  tell_exec_of_dump(session->folder_.path());
  return session;
}

Status CaptureSession::flush() {
  if (problems_.is_off_for(SessionProblems::kLeftAlone)) return {};
  sink_.flush();
  if (!folder_.still_there()) sink_.writer().lose_folder();
  return problems_.first_error();
}

Status CaptureSession::close(std::string* last_report) {
  if (last_report != nullptr) *last_report = "{}";
  if (problems_.is_off_for(SessionProblems::kLeftAlone)) return {};
  if (bind_failed_) return discard(), Status();
  account_for_children(problems_.children(), ops_);
  sink_.stop();
  last_ops_.stop();
  sink_.writer().flush();  // the report counts what cannot be written now
  sink_.writer().end_files(folder_.still_there());
  ops_.decide_rest();
  std::string report = to_json_text(manifest(true));
  const Status finished = layout_->finish(report);
  problems_.note_error(tell_exec(finished, folder_.path(), report));
  if (last_report != nullptr) *last_report = finished.ok() ? std::move(report) : to_json_text(manifest(false));
  problems_.switch_off(SessionProblems::kClosed);
  return problems_.first_error();
}

void CaptureSession::discard() {
  if ((problems_.switch_off(SessionProblems::kClosed) & SessionProblems::kLeftAlone) != 0) return;
  sink_.stop();
  last_ops_.stop();
  layout_.reset();
  folder_.discard();
}

Json CaptureSession::manifest(bool ended) const {
  const SessionReport report({origin_, ops_, admission_, sink_, look_, last_ops_, *contents_, pool_, program_.failed, problems_, changes_,
                              overflow_.has_value() ? &*overflow_ : nullptr, watch_.has_value() ? &*watch_ : nullptr, program_.steps});
  Json json = report.to_json(ended);
  if (asked_ != nullptr) asked_->describe(json);
  return json;
}

std::string CaptureSession::report() {
  if (problems_.is_off_for(SessionProblems::kFromStart)) return to_json_text(Json{{"disabled", origin_.why_disabled}});
  if (problems_.is_off_for(SessionProblems::kLeftAlone)) return R"({"disabled": "the session ended or this is a forked child"})";
  // The report lists a failure to flush among its problems.
  [[maybe_unused]] const Status flushed = flush();
  return to_json_text(manifest(false));
}

Status CaptureSession::replace_plan(CaptureSpec spec, std::vector<PlanChange> changes) {
  if (problems_.is_off_for(SessionProblems::kOffForGood)) return {};
  if (asked_ != nullptr) {
    // Devices are part of the questions.
    CaptureSpec same = spec;
    same.devices = asked_->opened().devices;
    TENSORTAP_RETURN_IF_ERROR(check_plan_change(asked_->opened(), same, *options_.layout));
    TENSORTAP_RETURN_IF_ERROR(asked_->replace(spec));
    for (PlanChange& change : changes) changes_.add(0, std::move(change), spec);
    return {};
  }
  TENSORTAP_RETURN_IF_ERROR(check_plan_change(options_.spec, spec, *options_.layout));
  spec.out = options_.spec.out;
  TENSORTAP_ASSIGN_OR_RETURN(std::unique_ptr<CapturePlan> plan, CapturePlan::compile(spec, plan_environment(options_)));
  auto active = std::make_unique<const ActivePlan>(std::move(plan), layout_->parts(), ops_.plan().shares_statistics, ops_.next_number());
  const uint32_t generation = active->generation;
  TENSORTAP_RETURN_IF_ERROR(ops_.replace(std::move(active), admission_.steps()));
  admission_.governor().aim(spec.budget, keeps_tensors(spec));
  for (PlanChange& change : changes) changes_.add(generation, std::move(change), spec);
  return {};
}

bool CaptureSession::write_last_ops() {
  if (!is_on() || !last_ops_.has_ring()) return false;
  last_ops_.fire();
  return true;
}

SessionCounts CaptureSession::counts() const {
  const RecordWriter& writer = sink_.writer();
  const StepGate& steps = admission_.steps();
  return {steps.steps_seen(), steps.steps_captured(),  writer.records(),
          writer.bytes(),     writer.losses().total(), to_json_text(origin_.process())};
}

bool CaptureSession::would_keep(const Question& question) { return asked_ != nullptr && is_on() && asked_->would_keep(question); }

Status CaptureSession::add_document(std::string_view path, std::string_view content, bool append) {
  if (!is_on()) return {};
  KeepsDocuments* documents = layout_->parts().documents;
  if (documents == nullptr) return unsupported("this layout cannot store files of the runtime");
  const Status status = path == kAttributesDocument ? documents->add_attributes(content) : documents->add_document(path, content, append);
  if (status.code() != StatusCode::kUnsupported) problems_.note_error(status);
  return status;
}

Status CaptureSession::add_arguments(OpId op, int64_t step, uint32_t call, std::string_view json) {
  if (!is_on() || !keeps_arguments(options_)) return {};
  const int64_t number = admission_.number_of(step);
  TENSORTAP_ASSIGN_OR_RETURN(const std::string line, arguments_line(op, number, call, json));
  const Status status = add_document(kCallsDocument, line, true);
  if (!status.ok()) origin_.facts.miss_arguments(number);
  return status;
}

OpId CaptureSession::register_op(OpInfo info) {
  return problems_.is_off_for(SessionProblems::kOffForGood) ? kNoOp : ops_.add(std::move(info));
}

Status CaptureSession::bind() {
  if (problems_.is_off_for(SessionProblems::kOffForGood)) return {};
  const Result<std::vector<OpInfo>> ops = ops_.bind();
  // Nothing was captured yet when a graph is bound before it runs: close() leaves nothing behind then.
  bind_failed_ = !ops.ok() && sink_.writer().records() == 0;
  if (!ops.ok()) return ops.status();
  if (overflow_.has_value()) overflow_->bind(*ops);
  if (!options_.before_moment) last_ops_.bind(*ops);
  return {};
}

void CaptureSession::not_captured(OpId op, std::string_view reason) {
  if (!problems_.is_off_for(SessionProblems::kOffForGood)) ops_.not_captured(op, reason);
}

bool CaptureSession::wants_op(OpId op) {
  if (problems_.is_off_for(SessionProblems::kOffForGood)) return false;
  OpEntry* entry = ops_.find(op);
  if (entry == nullptr) return false;
  // A later request may select any op.
  if (options_.spec.idle) return true;
  // A crash must know what runs; weights it does not need to.
  if (ops_.plan().failed_only) return last_ops_.records_crashes() && entry->info.type != kInitializerType;
  if ((follows_.executions || follows_.first_rounds) && !is_pseudo_op(entry->info)) return true;
  return ops_.wants(op, *entry);
}

uint32_t CaptureSession::wanted_reads() const { return overflow_.has_value() && is_on() ? overflow_->wanted_reads() : 0; }

bool CaptureSession::step_begin(int64_t step, uint64_t run, uint64_t kind) {
  if (!is_on()) {
    problems_.runs_unseen();
    return false;
  }
  program_.failed.caught();
  if (ops_.has_waiting()) ops_.apply_waiting(admission_.steps());
  const int64_t number = admission_.number_of(step);
  const bool captured = admission_.begin_step(number, run, monotonic_ns(), kind);
  if (changes_.wait()) changes_.begun(ops_.plan(admission_.steps().look(number).generation).generation, number);
  // Ops that were bound before they run have their places.
  const bool finds_ops = follows_.first_executions && !ops_.is_bound();
  return captured || follows_.executions || finds_ops || describes(step);
}

void CaptureSession::step_end(int64_t step, uint64_t run) {
  if (!is_on()) return;
  const int64_t number = admission_.number_of(step);
  const bool captured = admission_.end_step(number, run, monotonic_ns());
  const bool written = !overflow_.has_value() || overflow_->end_step(run);
  if (watch_.has_value()) watch_->end_run(run);
  if (captured && written && follows_.steps) sink_.end_step(number, run);
  if (!captured && describes(step)) sink_.round_passed(number, run);
}

bool CaptureSession::wants(OpId op, int64_t step) {
  if (!is_on()) return false;
  const int64_t number = admission_.number_of(step);
  if (overflow_.has_value() && overflow_->watches_whole(op)) return admission_.captures(number);
  OpEntry* entry = ops_.find(op);
  if (entry == nullptr) return false;
  if (describes(step) && !is_pseudo_op(entry->info)) return true;
  if (follows_.executions || ops_.plan().failed_only) {
    if (!wants_op(op)) return false;
  } else {
    const uint8_t generation = ops_.was_replaced() ? admission_.steps().look(number).generation : 0;
    const OpDecision* decision = ops_.decision_of(op, *entry, generation);
    if (!(decision->wanted || decision->watcher)) return false;
  }
  if (ops_.plan().on_request && !last_ops_.has_ring() && !follows_.executions && !entry->is_requested(ops_.plan().spec.inputs))
    return false;
  return admission_.wants(op, *entry, number) || follows_.executions;
}

void CaptureSession::on_op(const tensortap_op_event& event) {
  if (!is_on()) return;
  // Gates and crash records work on memory of the host.
  if ((overflow_.has_value() || last_ops_.records_crashes()) && is_remote(event)) {
    std::vector<tensortap_tensor> tensors;
    return on_op(devices_.fetched(event, ops_.plan().spec.device_stats != DeviceStats::kOff, tensors));
  }
  if (last_ops_.records_crashes()) last_ops_.note_running(event, admission_.step_of(event));
  if (options_.spec.trigger == Trigger::kException && ops_.plan().failed_only) return;
  const bool describes_it = describes(event.step) && event.phase != TENSORTAP_PHASE_LOAD;
  if (!follows_.executions && !describes_it) {
    take(event);
    return;
  }
  if (inside_event) return;
  if (describes_it && ops_.find(event.op) != nullptr) {
    look_.describe_all(event, shared_row(event, admission_.step_of(event), options_.rank));
  }
  const std::optional<uint32_t> call = take(event);
  if (!follows_.executions) return;
  OpEntry* op = ops_.find(event.op);
  if (op == nullptr || !is_execution(event) || is_pseudo_op(op->info)) return;
  RecordRow row = shared_row(event, admission_.step_of(event), options_.rank);
  row.time_ns = monotonic_ns() - origin_.opened_ns;
  row.call = call.has_value() ? *call : admission_.count(event, *op);
  sink_.op_ran(row);
}

// Every check that can end the way of an event, cheapest first.
std::optional<uint32_t> CaptureSession::take(const tensortap_op_event& event) {
  const bool whole = overflow_.has_value() && overflow_->watches_whole(event.op);
  if (whole && overflow_->passes_by_whole(event)) return {};
  const EventScope scope;
  if (!scope.entered()) return {};
  OpEntry* op = ops_.find(event.op);
  if (op == nullptr) {
    sink_.writer().lose_event(event.op);
    return {};
  }
  const uint8_t generation = ops_.was_replaced() ? admission_.generation_of(event, ops_.newest()) : 0;
  const OpDecision* decision = ops_.decision_of(event.op, *op, generation);
  if (!(decision->wanted || decision->watcher)) return {};
  const ActivePlan& plan = ops_.plan(generation);
  if (!Admission::moment_wanted(plan, event)) return {};
  const bool on_request = plan.on_request && !last_ops_.has_ring();
  if (on_request && !op->is_requested(plan.spec.inputs) && event.phase != TENSORTAP_PHASE_LOAD) return {};
  if (overflow_.has_value() && !whole && overflow_->passes_by(event, *op, *decision)) return {};
  const int64_t now_ns = monotonic_ns();
  Execution execution = admission_.admit(plan, event, *op, now_ns);
  if (execution.taken) {
    op->mark(kOpRan);
    const Governor::Thinning thinning = admission_.governor().thinning(now_ns);
    TakenEvent taken{event, *op, plan, decision, shared_row(event, admission_.step_of(event), options_.rank), thinning};
    taken.execution = execution;
    taken.for_readers = on_request && !op->requested.load(std::memory_order_relaxed);
    taken.row.time_ns = now_ns - origin_.opened_ns;
    taken.row.call = execution.call;
    if (last_ops_.has_ring()) taken.ring_only = is_for_ring(event, *op, *decision, plan.spec.trigger);
    if (overflow_.has_value()) {
      overflow_->take(taken);
    } else {
      look_.take_all(taken);
    }
    if (watch_.has_value()) watch_->ran(taken);
    execution.read_infinity = taken.execution.read_infinity;
    execution.late_infinity = taken.execution.late_infinity;
    admission_.spend(taken, now_ns);
  }
  admission_.remember(plan, event, *op, execution);
  return execution.call;
}

}  // namespace tensortap
