// The capture interface as a test program implements it: events are kept in memory, for tests of sources. Included by one file of a
// program.

#ifndef TENSORTAP_TESTS_FAKE_CAPTURE_H_
#define TENSORTAP_TESTS_FAKE_CAPTURE_H_

#include <tensortap/asking.h>

#include "fake_session.h"

extern "C" {
int tensortap_session_open(const tensortap_session_options*, tensortap_session** session, char*, size_t) noexcept {
  *session = reinterpret_cast<tensortap_session*>(fake_capture::next_session());
  return *session != nullptr ? TENSORTAP_OK : TENSORTAP_INTERNAL;
}
int tensortap_session_close(tensortap_session*) noexcept { return TENSORTAP_OK; }
int tensortap_session_end(tensortap_session*, char** report) noexcept {
  if (report != nullptr) *report = strdup("{\"dump\": \"fake\", \"lost\": 0}");
  return TENSORTAP_OK;
}
void tensortap_session_discard(tensortap_session*) noexcept {}
int tensortap_session_flush(tensortap_session*) noexcept { return TENSORTAP_OK; }
uint32_t tensortap_levels(tensortap_session*) noexcept { return 1U << TENSORTAP_LEVEL_OP; }
void tensortap_request_op(tensortap_session*, tensortap_op_id, int) noexcept {}
char* tensortap_session_report(tensortap_session*) noexcept { return strdup("{\"dump\": \"fake\", \"lost\": 0}"); }
void tensortap_free(void* text) noexcept { std::free(text); }
tensortap_op_id tensortap_register_op(tensortap_session* session, const tensortap_op* op) noexcept {
  auto& self = fake_capture::self(session);
  fake_capture::Op copy{op->name, op->type, op->graph != nullptr ? op->graph : "", {}, {}, {}, {}, op->parent, op->flags};
  for (uint64_t i = 0; i < op->original_count; ++i) copy.originals.emplace_back(op->originals[i]);
  for (uint64_t i = 0; i < op->input_count; ++i) copy.inputs.emplace_back(op->inputs[i]);
  for (uint64_t i = 0; i < op->output_count; ++i) copy.outputs.emplace_back(op->outputs[i]);
  for (uint64_t i = 0; op->producers != nullptr && i < op->input_count; ++i) copy.producers.push_back(op->producers[i]);
  self.ops.push_back(std::move(copy));
  return static_cast<tensortap_op_id>(self.ops.size() - 1);
}
int tensortap_bind(tensortap_session*, char*, size_t) noexcept { return TENSORTAP_OK; }
void tensortap_not_captured(tensortap_session* session, tensortap_op_id, const char* reason) noexcept {
  ++fake_capture::self(session).not_captured[reason];
}
int tensortap_wants_op(tensortap_session* session, tensortap_op_id op) noexcept {
  auto& self = fake_capture::self(session);
  return self.wanted(self.ops[op]) ? 1 : 0;
}
int tensortap_identity(tensortap_session* session) noexcept { return fake_capture::self(session).identity; }
int tensortap_wants_reads(tensortap_session* session) noexcept { return fake_capture::self(session).wants_reads ? 1 : 0; }
int tensortap_step_begin_kind(tensortap_session* session, int64_t step, uint64_t run, uint64_t) noexcept {
  auto& self = fake_capture::self(session);
  const std::lock_guard lock(self.mutex);
  self.begun.push_back(step);
  self.begun_runs.push_back(run);
  return self.unwanted_steps.contains(step) ? 0 : 1;
}
int tensortap_step_begin(tensortap_session* session, int64_t step, uint64_t run) noexcept {
  return tensortap_step_begin_kind(session, step, run, 0);
}
int tensortap_skips_steps(tensortap_session*) noexcept { return 0; }
int tensortap_compares_kinds(tensortap_session*) noexcept { return 0; }
void tensortap_note(tensortap_session*, const char*) noexcept {}
int tensortap_add_document(tensortap_session*, const tensortap_document*) noexcept { return TENSORTAP_UNSUPPORTED; }
int tensortap_wants_arguments(tensortap_session*) noexcept { return 0; }
int tensortap_wants_reads_after(tensortap_session*) noexcept { return 0; }
int tensortap_add_arguments(tensortap_session*, tensortap_op_id, int64_t, uint32_t, const char*) noexcept { return TENSORTAP_OK; }
int tensortap_add_requests(tensortap_session*, int64_t, uint32_t, const char*) noexcept { return TENSORTAP_UNSUPPORTED; }
int tensortap_add_fact(tensortap_session*, const char*, const char*) noexcept { return TENSORTAP_OK; }
void tensortap_failure_was_caught(tensortap_session*) noexcept {}
int tensortap_program_raised(tensortap_session*, const char*, const char* const*, uint64_t) noexcept { return 0; }
int tensortap_has_step_modules(tensortap_session*) noexcept { return 0; }
int tensortap_is_step_module(tensortap_session*, const char*, const char*) noexcept { return 0; }
void tensortap_step_module_called(tensortap_session*) noexcept {}
void tensortap_step_end(tensortap_session* session, int64_t step, uint64_t run) noexcept {
  auto& self = fake_capture::self(session);
  const std::lock_guard lock(self.mutex);
  self.ended.push_back(step);
  self.ended_runs.push_back(run);
}
int tensortap_wants(tensortap_session* session, tensortap_op_id op, int64_t) noexcept { return tensortap_wants_op(session, op); }
void tensortap_on_op(tensortap_session* session, const tensortap_op_event* event) noexcept {
  auto& self = fake_capture::self(session);
  auto copy = fake_capture::event_of(*event);
  const std::lock_guard lock(self.mutex);
  self.events.push_back(std::move(copy));
}
void tensortap_op_failed(tensortap_session* session, const tensortap_op_event* event, const char* error) noexcept {
  auto& self = fake_capture::self(session);
  const std::lock_guard lock(self.mutex);
  self.failures.push_back(fake_capture::event_of(*event));
  self.errors.emplace_back(error);
}
}

#endif  // TENSORTAP_TESTS_FAKE_CAPTURE_H_
