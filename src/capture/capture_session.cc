#include "capture/capture_session.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/message.h"
#include "base/text.h"
#include "layout/dump_room.h"

namespace tensortap {
namespace {

constexpr uint64_t kReserveForRows = uint64_t{64} << 20;  // free disk that statistics alone leave, at most
constexpr size_t kMostProblems = 100;
// Elements from which on looking a content up costs less than measuring it, or than copying and writing it.
constexpr uint64_t kLeastSharedStatistics = 8192;
constexpr uint64_t kLeastSharedData = 256;

DumpInfo dump_info(const std::string& folder, const SessionOptions& options) {
  DumpInfo info;
  info.folder = folder;
  info.program = options.program;
  info.source = options.source;
  info.rank = options.rank;
  info.world_size = std::max(options.world_size, 1);
  info.model = options.model;
  info.model_id = options.model_id;
  info.device = options.device;
  info.timestamp = options.timestamp;
  if (info.timestamp.empty()) {
    // What is made of a crash later goes where everything else is.
    info.timestamp = wall_clock_name();
    std::erase(info.timestamp, '-');
  }
  return info;
}

PlanEnvironment plan_environment(const SessionOptions& options) {
  PlanEnvironment environment{.layouts = {}, .before_moment = options.before_moment, .models = {}, .kernels = options.kernels};
  for (const std::string& name : {options.model, options.graph}) {
    if (!name.empty()) environment.models.push_back(name);
  }
  return environment;
}

bool keeps_tensors(const CaptureSpec& spec) { return spec.payload == Payload::kTensor || spec.payload == Payload::kFull; }

}  // namespace

CaptureSession::CaptureSession(SessionOptions options, OutputFolder folder, std::unique_ptr<CapturePlan> plan,
                               std::unique_ptr<LayoutWriter> layout)
    : options_(std::move(options)),
      folder_(std::move(folder)),
      plan_(std::move(plan)),
      layout_(std::move(layout)),
      governor_(options_.spec.budget, keeps_tensors(options_.spec)),
      steps_(options_.spec.steps, options_.spec.limits.stop_after, governor_),
      disk_(folder_.path(), options_.spec.limits.keep_free),
      disk_for_rows_(folder_.path(), std::min(options_.spec.limits.keep_free, kReserveForRows)),
      pool_(options_.spec.limits.pool_bytes),
      queue_([](void* session, QueuedRecord& record) { static_cast<CaptureSession*>(session)->write_queued(record); }, this) {}

CaptureSession::CaptureSession() : CaptureSession(SessionOptions{}, OutputFolder{}, nullptr, nullptr) {
  off_.store(kFromStart, std::memory_order_relaxed);
}

CaptureSession::~CaptureSession() = default;

std::unique_ptr<CaptureSession> CaptureSession::disabled(std::string why) {
  std::unique_ptr<CaptureSession> session(new CaptureSession());
  session->why_disabled_ = std::move(why);
  return session;
}

Result<std::unique_ptr<CaptureSession>> CaptureSession::open(SessionOptions options) {
  TENSORTAP_ASSIGN_OR_RETURN(std::unique_ptr<CapturePlan> plan, CapturePlan::compile(options.spec, plan_environment(options)));
  TENSORTAP_ASSIGN_OR_RETURN(OutputFolder folder,
                             options.layout->shares_folder
                                 ? OutputFolder::share(options.spec.out, options.spec.access)
                                 : OutputFolder::create(options.spec.out, options.rank, options.world_size, options.spec.access));
  const uint64_t keep_free = options.spec.limits.keep_free;
  const DiskGuard disk(folder.path(), keeps_tensors(options.spec) ? keep_free : std::min(keep_free, kReserveForRows));
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
  std::unique_ptr<CaptureSession> session(new CaptureSession(std::move(options), std::move(folder), std::move(plan), *std::move(layout)));
  const CaptureSpec& spec = session->options_.spec;
  const WhereExpression* where = session->plan_->where();
  session->keeps_data_ = keeps_tensors(spec) || session->layout_->wants_values();
  session->measures_ = spec.payload != Payload::kDescription || where != nullptr || spec.trigger == Trigger::kOverflow;
  if (spec.trigger == Trigger::kOverflow) session->gate_.emplace(spec.overflow_ops, spec.limits.max_triggers);
  session->failed_only_ = spec.trigger == Trigger::kException && spec.limits.ring_ops == 0;
  if (spec.limits.ring_ops > 0) {
    session->ring_.emplace(spec.limits.ring_ops, session->pool_);
    session->writing_fires_ = spec.trigger == Trigger::kAlways || spec.trigger == Trigger::kOnRequest;
  }
  if (spec.trigger == Trigger::kWatch) {
    session->watch_.emplace();
    // What statistics alone can not tell, a digest does.
    if (!session->keeps_data_ && spec.digest == "none") session->options_.spec.digest = "xxh3";
  }
  uint32_t wanted = kStatNonFinite | (where != nullptr ? where->needed_stats() : 0);
  if (spec.payload == Payload::kStatistics || spec.payload == Payload::kFull) wanted |= spec.stats == 0 ? kStatFull : spec.stats;
  session->stats_options_.wanted = wanted & kStatFull;
  session->stats_options_.policy = *policy_from_name(spec.non_finite);
  session->stats_options_.sample_limit = spec.sampling.elements;
  session->digest_ = *digest_from_name(spec.digest);
  session->statistics_at_once_ = session->layout_->takes_statistics_on_any_thread();
  session->keeps_rows_ = session->statistics_at_once_ || spec.payload != Payload::kTensor;
  session->follows_steps_ = session->layout_->follows_steps();
  session->most_dimensions_ = session->layout_->most_dimensions();
  const bool looks_at_all = where == nullptr && spec.sampling.head == 0 && spec.sampling.elements == 0 && spec.budget == 0;
  session->takes_shown_reads_ =
      session->gate_.has_value() && !session->ring_.has_value() && looks_at_all && spec.moment != MomentChoice::kBefore;
  session->on_request_ = spec.trigger == Trigger::kOnRequest;
  session->shares_statistics_ = session->options_.content_known && session->contents_.reserve();
  session->shares_data_ =
      session->shares_statistics_ && session->keeps_data_ && !session->gate_.has_value() && session->layout_->takes_references();
  session->least_shared_ = session->shares_data_ ? kLeastSharedData : kLeastSharedStatistics;
  session->opened_ns_ = monotonic_ns();
  session->started_ = wall_clock_iso();
  session->fork_guard_.emplace(&session->off_, kForked);
  if (spec.trigger == Trigger::kException || session->ring_.has_value()) {
    // Without it the capture goes on, and says so.
    const Status opened = session->open_crash_recorder(info);
    if (!opened.ok()) session->note_problem(opened.with_context("crashes leave nothing behind"));
  }
  return session;
}

void CaptureSession::enable(bool enabled) {
  if (enabled) {
    off_.fetch_and(~uint32_t{kDisabled});
  } else {
    off_.fetch_or(kDisabled);
  }
}

void CaptureSession::fail(std::string_view why) noexcept {
  if ((off_.fetch_or(kFailed) & kFailed) != 0) return;
  try {
    say(concat("capture is switched off: ", why));
    note_error(internal_error(std::string(why)));
  } catch (...) {
    // No memory even to say so: the bits in off_ are what counts.
    return;
  }
}

void CaptureSession::note_error(const Status& status) {
  if (status.ok()) return;
  note_problem(status);
  // A limit that was asked for.
  if (DumpRoom::is_no_room(status)) return;
  const std::lock_guard lock(error_mutex_);
  if (!first_error_.ok()) return;
  first_error_ = status;
  if (status.code() != StatusCode::kInternal) say(status.message());
}

void CaptureSession::note_failure(const Status& status) {
  if (status.code() == StatusCode::kUnsupported) {
    note_problem(status);
  } else {
    note_error(status);
  }
}

void CaptureSession::note_problem(const Status& status) {
  const std::lock_guard lock(error_mutex_);
  const bool is_new = std::ranges::find(problems_, status.message()) == problems_.end();
  if (is_new && problems_.size() < kMostProblems) problems_.push_back(status.message());
}

void CaptureSession::check_folder() {
  if (folder_.still_there()) return;
  // What was written is not where anybody looks for it.
  const uint64_t records = records_.exchange(0);
  bytes_.store(0);
  if (records > 0 || losses_.count(loss::kFolderGone) == 0) {
    losses_.add(
        loss::kFolderGone, [this] { return folder_.path(); }, std::max<uint64_t>(records, 1));
  }
  note_error(io_error(concat("output folder ", quote(folder_.path()), " was removed or renamed while running; the capture is lost")));
}

Status CaptureSession::flush() {
  if ((off_.load() & (kForked | kFromStart | kClosed)) != 0) return {};
  queue_.drain();
  {
    const auto token = queue_.writer_token();
    note_error(layout_->flush());
  }
  check_folder();
  const std::lock_guard lock(error_mutex_);
  return first_error_;
}

Status CaptureSession::close() {
  if ((off_.load() & (kForked | kFromStart | kClosed)) != 0) return {};
  if (bind_failed_) {
    discard();
    return {};
  }
  queue_.stop();
  crash_.reset();
  check_folder();
  const std::string text = to_json_text(manifest(true));
  note_error(layout_->finish(text));
  off_.fetch_or(kClosed);
  const std::lock_guard lock(error_mutex_);
  return first_error_;
}

void CaptureSession::discard() {
  if ((off_.fetch_or(kClosed) & (kForked | kFromStart | kClosed)) != 0) return;
  queue_.stop();
  crash_.reset();
  layout_.reset();
  folder_.discard();
}

uint32_t CaptureSession::levels() const {
  uint32_t bits = 0;
  for (const Level level : {Level::kOp, Level::kKernel, Level::kModule, Level::kModel, Level::kApi}) {
    if (std::ranges::find(options_.spec.levels, level_name(level)) != options_.spec.levels.end())
      bits |= 1U << static_cast<uint32_t>(level);
  }
  return bits;
}

OpId CaptureSession::register_op(OpInfo info) {
  if ((off_.load() & kOffForGood) != 0) return kNoOp;
  const std::lock_guard lock(registration_);
  const bool intended = attribute_is_set(info, kIntendedInfinities);
  const uint64_t overwritten = attribute_slots(info, kOverwrites);
  const OpId id = ops_.add(std::move(info));
  if (id != kNoOp) {
    ops_.find(id)->intended_infinities = intended;
    ops_.find(id)->overwritten = overwritten;
  }
  // A layout that can not write it now keeps it for later.
  if (id != kNoOp) note_error(layout_->add_op(id, ops_.find(id)->info));
  return id;
}

void CaptureSession::decide(OpId id, OpDecision decision) {
  layout_->op_decided(id, decision);
  ops_.decide(*ops_.find(id), std::move(decision));
}

const OpDecision* CaptureSession::decision_of(OpId id, OpEntry& entry) {
  const OpDecision* decision = entry.decision.load(std::memory_order_acquire);
  if (decision != nullptr) return decision;
  const std::lock_guard lock(registration_);
  if (entry.decision.load(std::memory_order_acquire) == nullptr) decide(id, plan_->decide(entry.info));
  return entry.decision.load(std::memory_order_acquire);
}

Status CaptureSession::bind() {
  if ((off_.load() & kOffForGood) != 0) return {};
  const std::lock_guard lock(registration_);
  std::vector<OpInfo> infos;
  infos.reserve(ops_.size());
  for (OpId id = 0; id < ops_.size(); ++id) infos.push_back(ops_.find(id)->info);
  Result<std::vector<OpDecision>> decisions = plan_->bind(infos);
  if (!decisions.ok()) {
    // Nothing was captured yet when a graph is bound before it runs: close() leaves nothing behind then.
    bind_failed_ = records_.load() == 0;
    return decisions.status();
  }
  if (gate_.has_value()) gate_->bind(infos);
  if (crash_ != nullptr && !options_.before_moment) crash_->running.bind(infos);
  matches_ = explain_match(infos, *decisions);
  for (OpId id = 0; id < decisions->size() && id < ops_.size(); ++id) decide(id, std::move((*decisions)[id]));
  if (takes_shown_reads_) find_watched_whole();
  bound_ = true;
  bind_failed_ = false;
  return {};
}

void CaptureSession::request_op(OpId op, bool enabled) noexcept {
  if (!on_request_) {
    requested_in_vain_.store(true, std::memory_order_relaxed);
    return;
  }
  OpEntry* entry = ops_.find(op);
  if (entry == nullptr) return;
  entry->requested.store(enabled, std::memory_order_relaxed);
  if (enabled) entry->mark(kOpRequested);
}

void CaptureSession::not_captured(OpId op, std::string_view reason) {
  if ((off_.load() & kOffForGood) != 0) return;
  OpEntry* entry = ops_.find(op);
  if (entry == nullptr) return;
  const std::lock_guard lock(registration_);
  if (std::ranges::find(entry->reasons, reason) == entry->reasons.end()) entry->reasons.emplace_back(reason);
}

bool CaptureSession::wants_op(OpId op) {
  if ((off_.load(std::memory_order_relaxed) & kOffForGood) != 0) return false;
  OpEntry* entry = ops_.find(op);
  if (entry == nullptr) return false;
  // A crash must know what runs; weights it does not need to.
  if (failed_only_) return crash_ != nullptr && entry->info.type != kInitializerType;
  const OpDecision* decision = decision_of(op, *entry);
  return decision->wanted || decision->watcher;
}

bool CaptureSession::step_begin(int64_t step, uint64_t run) {
  return is_on() && steps_.begin(step + options_.spec.first_step, run, monotonic_ns());
}

void CaptureSession::step_end(int64_t step, uint64_t run) {
  if (!is_on()) return;
  const int64_t number = step + options_.spec.first_step;
  const bool captured = steps_.verdict(number) == StepGate::Verdict::kCaptured;
  steps_.end(number, run, monotonic_ns());
  const bool written = !gate_.has_value() || gate_->end_step(run);
  if (watch_.has_value()) watch_->end_run(run);
  if (!follows_steps_ || !captured || !written) return;
  RecordRow row;
  row.step = number;
  row.run = run;
  queue_.push({row, PoolBuffer{}, nullptr, true});
}

bool CaptureSession::wants(OpId op, int64_t step) {
  if (is_on() && watched_whole_.serves(op)) return steps_.verdict(step + options_.spec.first_step) == StepGate::Verdict::kCaptured;
  if (!is_on() || !wants_op(op)) return false;
  if (on_request_ && !ring_.has_value() && !ops_.find(op)->requested.load(std::memory_order_relaxed)) return false;
  const int64_t number = step + options_.spec.first_step;
  if (steps_.verdict(number) != StepGate::Verdict::kCaptured) return false;
  if (!governor_.active() || !ops_.find(op)->has(kOpCaptured) || governor_.takes_op(op, number)) return true;
  // The source will not tell of this execution.
  ops_.find(op)->mark(kOpLeftOut);
  governor_.count_left_out();
  return false;
}

}  // namespace tensortap
