// Keeps in memory everything that a session of the capture interface receives: for tests of sources, with fake_capture.h in one file of the
// program.

#ifndef TENSORTAP_TESTS_FAKE_SESSION_H_
#define TENSORTAP_TESTS_FAKE_SESSION_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
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

// Everything that a session received. Guarded by its mutex during runs.
struct Session {
  std::mutex mutex;
  std::vector<Op> ops;
  std::vector<Event> events;
  std::vector<Event> failures;
  std::vector<std::string> errors;
  std::map<std::string, int> not_captured;
  int identity = TENSORTAP_IDENTITY_PLACE;
  std::vector<int64_t> begun, ended;
  std::vector<uint64_t> begun_runs, ended_runs;  // beside `begun` and `ended`
  std::set<int64_t> unwanted_steps;              // of which nothing is captured
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

#endif  // TENSORTAP_TESTS_FAKE_SESSION_H_
