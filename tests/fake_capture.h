// The capture interface as a test program implements it: events are kept in memory, for tests of sources. Included by one file of a program.

#ifndef TENSORTAP_TESTS_FAKE_CAPTURE_H_
#define TENSORTAP_TESTS_FAKE_CAPTURE_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tensortap/capture.h"

namespace fake_capture {

struct Tensor {
  uint32_t dtype = 0;
  std::vector<int64_t> dims;
  uint32_t slot_kind = 0;
  uint32_t slot_index = 0;
  int64_t element = -1;
  std::string bytes;  // strings are joined with '\0'
};

struct Event {
  tensortap_op_id op = 0;
  int64_t step = 0;
  uint64_t run = 0;
  uint32_t phase = 0;
  int64_t duration_ns = 0;
  std::vector<Tensor> tensors;
};

struct Op {
  std::string name, type, graph;
  std::vector<std::string> originals, inputs, outputs;
  std::vector<tensortap_op_id> producers;
  tensortap_op_id parent = TENSORTAP_NO_OP;
  uint32_t flags = 0;
};

inline size_t element_bits(uint32_t dtype) {
  static constexpr size_t kBits[] = {0, 8, 8, 16, 32, 64, 8, 16, 32, 64, 16, 16, 32, 64, 64, 128, 8, 8, 8, 8, 8, 4, 4, 2, 2, 1, 4, 0};
  return dtype < TENSORTAP_DTYPE_COUNT ? kBits[dtype] : 0;
}

inline Tensor copy_of(const tensortap_tensor& tensor) {
  Tensor copy{tensor.dtype, {tensor.dims, tensor.dims + tensor.rank}, tensor.slot_kind, tensor.slot_index, tensor.element, {}};
  size_t count = 1;
  for (const int64_t dim : copy.dims) count *= static_cast<size_t>(dim);
  if (tensor.dtype == TENSORTAP_STRING) {
    const auto* strings = static_cast<const tensortap_string*>(tensor.data);
    for (size_t i = 0; i < count; ++i) copy.bytes += std::string(strings[i].data, strings[i].size) + '\0';
  } else if (tensor.data != nullptr) {
    copy.bytes.assign(static_cast<const char*>(tensor.data), (count * element_bits(tensor.dtype) + 7) / 8);
    // Bits behind the last packed element are as they come.
    if (const size_t used = count * element_bits(tensor.dtype) % 8; used != 0) copy.bytes.back() &= static_cast<char>((1u << used) - 1);
  }
  return copy;
}

// What a session has been told. Guarded by its mutex while runs go on.
struct Session {
  std::mutex mutex;
  std::vector<Op> ops;
  std::vector<Event> events;
  std::vector<Event> failures;
  std::vector<std::string> errors;
  std::map<std::string, int> not_captured;
  std::vector<int64_t> begun, ended;
  std::function<bool(const Op&)> wanted = [](const Op&) { return true; };
  bool keep_data = true;
  bool wants_reads = false;
};

// The session that the next tensortap_session_open() gives; tests set it.
inline Session*& next_session() {
  static Session* session = nullptr;
  return session;
}

inline Session& self(tensortap_session* session) { return *reinterpret_cast<Session*>(session); }

inline Event event_of(const tensortap_op_event& event) {
  Event copy{event.op, event.step, event.run, event.phase, event.duration_ns, {}};
  for (uint64_t i = 0; i < event.tensor_count; ++i) copy.tensors.push_back(copy_of(event.tensors[i]));
  return copy;
}

}  // namespace fake_capture

extern "C" {
int tensortap_session_open(const tensortap_session_options*, tensortap_session** session, char*, size_t) noexcept {
  *session = reinterpret_cast<tensortap_session*>(fake_capture::next_session());
  return *session != nullptr ? TENSORTAP_OK : TENSORTAP_INTERNAL;
}
int tensortap_session_close(tensortap_session*) noexcept { return TENSORTAP_OK; }
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
int tensortap_wants_reads(tensortap_session* session) noexcept { return fake_capture::self(session).wants_reads ? 1 : 0; }
int tensortap_step_begin(tensortap_session* session, int64_t step, uint64_t) noexcept {
  auto& self = fake_capture::self(session);
  const std::lock_guard lock(self.mutex);
  self.begun.push_back(step);
  return 1;
}
void tensortap_step_end(tensortap_session* session, int64_t step, uint64_t) noexcept {
  auto& self = fake_capture::self(session);
  const std::lock_guard lock(self.mutex);
  self.ended.push_back(step);
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
