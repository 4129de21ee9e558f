// The C interface of include/tensortap/capture.h over CaptureSession. Nothing passes this boundary but status numbers.

#include <tensortap/asking.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "api/config_follower.h"
#include "api/session_control.h"
#include "api/session_handle.h"
#include "base/environment.h"
#include "base/job_rank.h"
#include "base/message.h"
#include "base/report_status.h"
#include "base/text.h"
#include "registry/registry.h"
#include "session/capture_session.h"
#include "session/event_view.h"
#include "stats/stats_target.h"

namespace tensortap {
namespace {

Result<CaptureSpec> spec_of(const char* config, const char* config_name) {
  const std::string_view text = config == nullptr ? std::string_view() : std::string_view(config);
  const std::string name = config_name == nullptr ? "config" : config_name;
  if (trim(text).empty()) return CaptureSpec{};
  // A text in no known dialect is read as our own, whose parser reports where the text stops making sense.
  const Dialect* dialect = recognise_dialect(text);
  return read_config(text, name, dialect == nullptr ? "tensortap" : dialect->name);
}

int device_of(const tensortap_session_options& given) { return given.device != 0 ? given.device : job_device(); }

// Why a process on this device captures nothing, whatever comes; "" when something may.
std::string device_left_out(const CaptureSpec& spec, int device) {
  if (!spec.follow.path.empty() || captures_device(spec, device)) return "";
  return concat("it is on device ", device, ", which the config does not list");
}

std::unique_ptr<ConfigFollower> follower_of(const CaptureSession& session, const tensortap_session_options& given) {
  const CaptureSpec spec = session.asked();
  return spec.follow.path.empty()
             ? nullptr
             : std::make_unique<ConfigFollower>(spec, session.options().asks ? std::optional<int>() : device_of(given));
}

// Whether it can be found and told something is no condition for a session.
std::unique_ptr<SessionControl> control_of(CaptureSession& session) {
  if (session.state().is_off_for(SessionProblems::kFromStart)) return nullptr;
  Status problem;
  const SessionOptions& options = session.options();
  const SessionFacts facts{.dump = session.folder(),
                           .shared_folder = options.layout->shares_folder,
                           .access = options.spec.access,
                           .program = options.program,
                           .source = options.source,
                           .model = options.model,
                           .layout = options.spec.layout,
                           .rank = options.rank,
                           .world_size = options.world_size};
  auto files = SessionFiles::create(facts, session.counts(), !options.spec.idle, problem);
  if (!problem.ok()) session.state().add_note(concat("`tensortap ps` does not show this capture: ", problem.message()));
  return std::make_unique<SessionControl>(session, std::move(files));
}

Result<std::unique_ptr<CaptureSession>> open_session(const tensortap_session_options& given) {
  if (environment_value("TENSORTAP_DISABLE").has_value()) return CaptureSession::disabled("TENSORTAP_DISABLE is set");
  SessionOptions options;
  TENSORTAP_ASSIGN_OR_RETURN(options.spec, spec_of(given.config, given.config_name));
  options.asks = (given.flags & TENSORTAP_SESSION_ASKS) != 0;
  if (options.spec.steps.is_never() && options.spec.follow.path.empty() && !options.spec.idle)
    return CaptureSession::disabled("the config asks for nothing");
  // The device of an engine that asks is part of its questions.
  if (std::string why = options.asks ? "" : device_left_out(options.spec, device_of(given)); !why.empty()) {
    say(concat("nothing is captured in this process: ", why));
    return CaptureSession::disabled(std::move(why));
  }
  options.layout = find_layout(options.spec.layout);  // not null: check_target() has seen to that
  if (const auto kernel = environment_value("TENSORTAP_SIMD"); kernel.has_value() && !set_stats_target(*kernel)) {
    return invalid_argument(
        concat("TENSORTAP_SIMD: this machine has no kernels called ", quote(*kernel), "; `tensortap doctor` lists them"));
  }
  options.program = text_of(given.program);
  options.source = text_of(given.source);
  options.model = text_of(given.model);
  options.graph = text_of(given.graph);
  options.model_id = given.model_id;
  options.device = given.device;
  options.threads = given.threads;
  options.timestamp = text_of(given.timestamp);
  options.rank = given.rank;
  options.world_size = given.world_size;
  options.before_moment = (given.flags & TENSORTAP_SESSION_AFTER_ONLY) == 0;
  options.kernels = (given.flags & TENSORTAP_SESSION_KERNELS) != 0;
  options.modules = (given.flags & TENSORTAP_SESSION_MODULES) != 0;
  options.content_known = (given.flags & TENSORTAP_SESSION_CONTENT_UNKNOWN) == 0;
  if (given.rank < 0 || (given.world_size > 1 && given.rank >= given.world_size)) {
    return invalid_argument(concat("rank ", given.rank, " is not one of ", given.world_size, " ranks"));
  }
  TENSORTAP_ASSIGN_OR_RETURN(auto session, CaptureSession::open(std::move(options)));
  if (given.threads > 0) static_cast<void>(session->facts().add("threads", std::to_string(given.threads)));
  return session;
}

template <class T>
T item(const T* list, uint64_t index, T otherwise) {
  return list == nullptr ? otherwise : list[index];
}

void add_values(const tensortap_op& op, OpInfo& info) {
  for (uint64_t i = 0; op.originals != nullptr && i < op.original_count; ++i) {
    info.originals.push_back({text_of(op.originals[i]), text_of(item<const char*>(op.original_types, i, nullptr))});
  }
  for (uint64_t i = 0; op.inputs != nullptr && i < op.input_count; ++i) {
    info.inputs.push_back({text_of(op.inputs[i]), item<tensortap_op_id>(op.producers, i, kNoOp), item<uint32_t>(op.producer_slots, i, 0)});
  }
  for (uint64_t i = 0; op.outputs != nullptr && i < op.output_count; ++i) info.outputs.push_back(text_of(op.outputs[i]));
}

OpInfo op_info_of(const tensortap_op& op) {
  OpInfo info;
  info.name = text_of(op.name);
  info.type = text_of(op.type);
  info.domain = text_of(op.domain);
  info.graph = text_of(op.graph);
  info.module = text_of(op.module);
  info.source_location = text_of(op.source_location);
  info.source_text = text_of(op.source_text);
  info.attributes = text_of(op.attributes);
  info.inserted_by_runtime = (op.flags & TENSORTAP_OP_INSERTED_BY_RUNTIME) != 0;
  info.single = (op.flags & TENSORTAP_OP_SINGLE) != 0;
  info.level = op.level <= TENSORTAP_LEVEL_API ? static_cast<Level>(op.level) : Level::kOp;
  // A caller whose structure ends before `parent` has no op above it.
  info.parent = op.size >= offsetof(tensortap_op, parent) + sizeof(op.parent) ? op.parent : kNoOp;
  info.occurrence = op.occurrence;
  info.model_phase = op.model_phase <= TENSORTAP_MODEL_PHASE_TRAIN ? static_cast<ModelPhase>(op.model_phase) : ModelPhase::kNone;
  info.id = text_of(op.id);
  add_values(op, info);
  return info;
}

// Bits 1 << Level of what the spec asks for.
uint32_t level_bits(const CaptureSpec& spec) {
  uint32_t bits = 0;
  for (const Level level : {Level::kOp, Level::kKernel, Level::kModule, Level::kModel, Level::kApi}) {
    if (std::ranges::find(spec.levels, level_name(level)) != spec.levels.end()) bits |= 1U << static_cast<uint32_t>(level);
  }
  return bits;
}

// Passes a caller's event on when it is one. The common case, the same version on both sides, copies nothing.
template <class Use>
void with_event(const tensortap_op_event* event, Use&& use) {
  if (event == nullptr || event->size < offsetof(tensortap_op_event, tensor_count)) return;
  const bool same = event->size >= sizeof(tensortap_op_event);
  tensortap_op_event copy{};
  if (!same) copy = sized_copy<tensortap_op_event>(event);
  const tensortap_op_event& given = same ? *event : copy;
  const bool has_tensors = given.tensor_count > 0;
  if (has_tensors && (given.tensors == nullptr || given.tensors->size < offsetof(tensortap_tensor, slot_kind))) return;
  use(given);
}

}  // namespace
}  // namespace tensortap

using tensortap::guarded;
using tensortap::session_of;

int tensortap_session_open(const tensortap_session_options* options, tensortap_session** session, char* message, size_t capacity) noexcept {
  if (message != nullptr && capacity > 0) message[0] = '\0';
  if (session != nullptr) *session = nullptr;
  return guarded<int>(nullptr, TENSORTAP_INTERNAL, [&]() -> int {
    if (options == nullptr || session == nullptr || options->size < offsetof(tensortap_session_options, config)) {
      return tensortap::report_status(
          tensortap::invalid_argument("tensortap_session_open: options (with their size) and session are needed"), message, capacity);
    }
    const auto given = tensortap::sized_copy<tensortap_session_options>(options);
    if (given.version == 0 || given.version > TENSORTAP_CAPTURE_VERSION) {
      const std::string text = tensortap::concat("tensortap_session_open: this library has version ", TENSORTAP_CAPTURE_VERSION,
                                                 " of the capture interface, the program asks for ", given.version);
      return tensortap::report_status(tensortap::unsupported(text), message, capacity);
    }
    auto opened = tensortap::open_session(given);
    if (!opened.ok()) return tensortap::report_status(opened.status(), message, capacity);
    auto follower = tensortap::follower_of(**opened, given);
    auto control = tensortap::control_of(**opened);
    *session = new tensortap_session{*std::move(opened), std::move(follower), std::move(control)};
    return TENSORTAP_OK;
  });
}

int tensortap_session_close(tensortap_session* session) noexcept { return tensortap_session_end(session, nullptr); }

int tensortap_session_end(tensortap_session* session, char** report) noexcept {
  if (report != nullptr) *report = nullptr;
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return TENSORTAP_OK;
  // A forked child leaves the parent's session alone: its thread does not exist here, its files are the parent's.
  if (open->state().is_off_for(tensortap::SessionProblems::kForked)) return TENSORTAP_OK;
  const int status = guarded<int>(open, TENSORTAP_INTERNAL, [open, session, report] {
    session->control.reset();
    std::string text;
    const int code = static_cast<int>(open->close(&text).code());
    if (report != nullptr) *report = strdup(text.c_str());
    return code;
  });
  guarded<bool>(nullptr, false, [session] {
    delete session;
    return true;
  });
  return status;
}

void tensortap_session_discard(tensortap_session* session) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr || open->state().is_off_for(tensortap::SessionProblems::kForked)) return;
  guarded<bool>(open, false, [open, session] {
    session->control.reset();
    open->discard();
    delete session;
    return true;
  });
}

void tensortap_session_enable(tensortap_session* session, int enabled) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return;
  if (enabled != 0) {
    open->state().switch_on(tensortap::SessionProblems::kDisabled);
  } else {
    open->state().switch_off(tensortap::SessionProblems::kDisabled);
  }
}

int tensortap_session_flush(tensortap_session* session) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return TENSORTAP_OK;
  return guarded<int>(open, TENSORTAP_INTERNAL, [open] { return static_cast<int>(open->flush().code()); });
}

char* tensortap_session_report(tensortap_session* session) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  return guarded<char*>(open, nullptr, [open] { return strdup(open == nullptr ? "{}" : open->report().c_str()); });
}

void tensortap_free(void* text) noexcept { std::free(text); }  // NOLINT(cppcoreguidelines-no-malloc): a C caller's text

tensortap_op_id tensortap_register_op(tensortap_session* session, const tensortap_op* op) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr || op == nullptr || op->size < offsetof(tensortap_op, domain)) return TENSORTAP_NO_OP;
  return guarded<tensortap_op_id>(open, TENSORTAP_NO_OP, [open, op]() -> tensortap_op_id {
    const auto given = tensortap::sized_copy<tensortap_op>(op);
    if (given.name == nullptr || given.type == nullptr) return TENSORTAP_NO_OP;
    return open->register_op(tensortap::op_info_of(given));
  });
}

int tensortap_bind(tensortap_session* session, char* message, size_t capacity) noexcept {
  if (message != nullptr && capacity > 0) message[0] = '\0';
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return TENSORTAP_OK;
  return guarded<int>(open, TENSORTAP_INTERNAL, [&] { return tensortap::report_status(open->bind(), message, capacity); });
}

int tensortap_replace_plan(tensortap_session* session, const char* config, const char* config_name, char* message,
                           size_t capacity) noexcept {
  if (message != nullptr && capacity > 0) message[0] = '\0';
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return TENSORTAP_OK;
  return guarded<int>(open, TENSORTAP_INTERNAL, [&] {
    auto spec = tensortap::spec_of(config, config_name);
    const tensortap::PlanChange change{"the program", ""};
    return tensortap::report_status(spec.ok() ? open->replace_plan(*std::move(spec), {change}) : spec.status(), message, capacity);
  });
}

void tensortap_request_op(tensortap_session* session, tensortap_op_id op, int enabled) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return;
  guarded<bool>(open, false, [=] {
    open->request_op(op, enabled != 0);
    return true;
  });
}

void tensortap_not_captured(tensortap_session* session, tensortap_op_id op, const char* reason) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr || reason == nullptr) return;
  guarded<bool>(open, false, [=] {
    open->not_captured(op, reason);
    return true;
  });
}

uint32_t tensortap_levels(tensortap_session* session) noexcept {
  const tensortap::CaptureSession* open = session_of(session);
  return open == nullptr ? 0 : tensortap::level_bits(open->options().spec);
}

int tensortap_identity(tensortap_session* session) noexcept {
  const tensortap::CaptureSession* open = session_of(session);
  const bool calls = open != nullptr && open->options().layout != nullptr && open->options().layout->tells_calls_apart;
  return calls ? TENSORTAP_IDENTITY_CALL : TENSORTAP_IDENTITY_PLACE;
}

int tensortap_wants_op(tensortap_session* session, tensortap_op_id op) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return 0;
  return guarded<bool>(open, false, [=] { return open->wants_op(op); }) ? 1 : 0;
}

int tensortap_wants_reads(tensortap_session* session) noexcept {
  const tensortap::CaptureSession* open = session_of(session);
  return open == nullptr ? 0 : static_cast<int>(open->wanted_reads());
}

int tensortap_step_begin(tensortap_session* session, int64_t step, uint64_t run) noexcept {
  return tensortap_step_begin_kind(session, step, run, 0);
}

int tensortap_step_begin_kind(tensortap_session* session, int64_t step, uint64_t run, uint64_t kind) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return 0;
  return guarded<bool>(open, false,
                       [=] {
                         if (session->follower != nullptr) tensortap::follow_config(*open, *session->follower);
                         if (session->control != nullptr) session->control->step_begins(step);
                         return open->step_begin(step, run, kind);
                       })
             ? 1
             : 0;
}

int tensortap_skips_steps(tensortap_session* session) noexcept {
  const tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return 0;
  const tensortap::CaptureSpec& spec = open->options().spec;
  return spec.budget > 0 || spec.idle || !spec.follow.path.empty() || !spec.steps.is_all() || spec.limits.stop_after >= 0 ? 1 : 0;
}

void tensortap_note(tensortap_session* session, const char* text) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr || text == nullptr || *text == '\0') return;
  guarded<bool>(open, false, [=] {
    open->state().add_note(text);
    return true;
  });
}

void tensortap_step_end(tensortap_session* session, int64_t step, uint64_t run) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return;
  guarded<bool>(open, false, [=] {
    open->step_end(step, run);
    return true;
  });
}

int tensortap_wants(tensortap_session* session, tensortap_op_id op, int64_t step) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return 0;
  return guarded<bool>(open, false, [=] { return open->wants(op, step); }) ? 1 : 0;
}

void tensortap_on_op(tensortap_session* session, const tensortap_op_event* event) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return;
  if (!open->is_on()) return open->state().runs_unseen();
  guarded<bool>(open, false, [open, event, session] {
    if (session->control != nullptr) session->control->op_begins();
    tensortap::with_event(event, [open](const tensortap_op_event& given) { open->on_op(given); });
    return true;
  });
}

void tensortap_op_failed(tensortap_session* session, const tensortap_op_event* event, const char* error) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr || !open->is_on()) return;
  guarded<bool>(open, false, [open, event, error] {
    tensortap::with_event(event, [open, error](const tensortap_op_event& given) {
      open->op_failed(given, error == nullptr ? std::string_view("unknown error") : std::string_view(error));
    });
    return true;
  });
}

const char* tensortap_version() noexcept { return TENSORTAP_VERSION; }
