// The C interface of include/tensortap/asking.h.

#include <tensortap/asking.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/session_handle.h"
#include "base/message.h"
#include "base/process_role.h"
#include "base/text.h"
#include "session/engine_requests.h"
#include "session/event_view.h"

namespace tensortap {

void follow_config(CaptureSession& session, ConfigFollower& follower) {
  Result<std::optional<CaptureSpec>> next = follower.look();
  if (next.ok() && !next->has_value()) return;
  const std::string path = quote(session.options().spec.follow.path);  // as JSON has it
  const Status status = next.ok() ? session.replace_plan(**std::move(next), {{"the config that is followed", path}}) : next.status();
  if (!status.ok()) say(concat("the capture goes on as before: ", status.message()));
}

namespace {

Question question_of(const tensortap_question& given) {
  Question question;
  if ((given.flags & TENSORTAP_QUESTION_OP) != 0) question.operation = {text_of(given.id), text_of(given.type)};
  if ((given.flags & TENSORTAP_QUESTION_STEP) != 0) question.step = given.step;
  if ((given.flags & TENSORTAP_QUESTION_DEVICE) != 0) question.device = given.device;
  return question;
}

}  // namespace
}  // namespace tensortap

using tensortap::guarded;
using tensortap::session_of;

int tensortap_would_keep(tensortap_session* session, const tensortap_question* question) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr || question == nullptr) return 0;
  const auto ask = [=] {
    if (session->follower != nullptr) tensortap::follow_config(*open, *session->follower);
    return open->would_keep(tensortap::question_of(tensortap::sized_copy<tensortap_question>(question)));
  };
  return guarded<bool>(open, false, ask) ? 1 : 0;
}

int tensortap_add_document(tensortap_session* session, const tensortap_document* document) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr || document == nullptr) return TENSORTAP_OK;
  return guarded<int>(open, TENSORTAP_INTERNAL, [=] {
    const auto given = tensortap::sized_copy<tensortap_document>(document);
    if (given.path == nullptr || (given.data == nullptr && given.bytes > 0)) return static_cast<int>(TENSORTAP_INVALID_ARGUMENT);
    const std::string_view content(static_cast<const char*>(given.data), given.bytes);
    return static_cast<int>(open->add_document(given.path, content, (given.flags & TENSORTAP_DOCUMENT_APPEND) != 0).code());
  });
}

int tensortap_wants_arguments(tensortap_session* session) noexcept {
  const tensortap::CaptureSession* open = session_of(session);
  return open != nullptr && tensortap::keeps_arguments(open->options()) ? 1 : 0;
}

int tensortap_wants_reads_after(tensortap_session* session) noexcept {
  const tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr || !open->options().before_moment) return 0;
  const tensortap::CaptureSpec& spec = open->options().spec;
  return spec.inputs && tensortap::looks_at_reads_after(spec) ? 1 : 0;
}

int tensortap_add_arguments(tensortap_session* session, tensortap_op_id op, int64_t step, uint32_t call, const char* json) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return TENSORTAP_OK;
  if (json == nullptr || call == 0) return TENSORTAP_INVALID_ARGUMENT;
  return guarded<int>(open, TENSORTAP_INTERNAL, [=] { return static_cast<int>(open->add_arguments(op, step, call - 1, json).code()); });
}

int tensortap_add_requests(tensortap_session* session, int64_t step, uint32_t model_phase, const char* json) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return TENSORTAP_OK;
  if (json == nullptr) return TENSORTAP_INVALID_ARGUMENT;
  const auto add = [=] { return static_cast<int>(tensortap::add_requests(*open, step, model_phase, json).code()); };
  return guarded<int>(open, TENSORTAP_INTERNAL, add);
}

int tensortap_add_fact(tensortap_session* session, const char* name, const char* json) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr) return TENSORTAP_OK;
  if (name == nullptr || json == nullptr) return TENSORTAP_INVALID_ARGUMENT;
  return guarded<int>(open, TENSORTAP_INTERNAL, [=] {
    const tensortap::Status added = open->facts().add(name, json);
    if (added.ok() && name == tensortap::kProcessNameFact && session->control != nullptr) session->control->tell_now();
    return static_cast<int>(added.code());
  });
}

void tensortap_failure_was_caught(tensortap_session* session) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open != nullptr) guarded<int>(open, 0, [=] { return open->failed_ops().caught(), 0; });
}

int tensortap_program_raised(tensortap_session* session, const char* text, const char* const* lines, uint64_t line_count) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr || text == nullptr || (lines == nullptr && line_count > 0)) return 0;
  return guarded<bool>(open, false, [=] { return open->failed_ops().program_raised(text, {lines, lines + line_count}); }) ? 1 : 0;
}

int tensortap_has_step_modules(tensortap_session* session) noexcept {
  const tensortap::CaptureSession* open = session_of(session);
  return open != nullptr && open->step_modules().are_asked_for() ? 1 : 0;
}

int tensortap_is_step_module(tensortap_session* session, const char* path, const char* type) noexcept {
  tensortap::CaptureSession* open = session_of(session);
  if (open == nullptr || path == nullptr || type == nullptr) return 0;
  return guarded<bool>(open, false, [=] { return open->step_modules().is_one(path, type); }) ? 1 : 0;
}

int tensortap_compares_kinds(tensortap_session* session) noexcept {
  const tensortap::CaptureSession* open = session_of(session);
  return open != nullptr && open->options().spec.budget > 0 ? 1 : 0;
}

void tensortap_step_module_called(tensortap_session* session) noexcept {
  if (tensortap::CaptureSession* open = session_of(session); open != nullptr) open->step_modules().called();
}
