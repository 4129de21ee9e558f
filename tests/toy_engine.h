// A toy runtime over capture.h and a folder that goes away, for tests of sessions.

#ifndef TENSORTAP_TESTS_TOY_ENGINE_H_
#define TENSORTAP_TESTS_TOY_ENGINE_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <tensortap/capture.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "read/open_dump.h"
#include "trace/dump_index.h"

namespace toy {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tensortap-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

struct Opened {
  tensortap_session* session = nullptr;
  int status = 0;
  std::string message;
};

inline Opened open_session(nlohmann::json config, const std::string& out, int32_t rank = 0, int32_t world_size = 1) {
  if (!out.empty()) config["out"] = out;
  if (!config.contains("limits") || !config["limits"].contains("keep_free")) config["limits"]["keep_free"] = 0;
  const std::string text = config.dump();
  tensortap_session_options options{};
  options.size = sizeof(options);
  options.version = TENSORTAP_CAPTURE_VERSION;
  options.config = text.c_str();
  options.source = "toy 1.0";
  options.program = "toy";
  options.rank = rank;
  options.world_size = world_size;
  Opened opened;
  std::array<char, 4096> message{};
  opened.status = tensortap_session_open(&options, &opened.session, message.data(), message.size());
  opened.message = message.data();
  return opened;
}

inline tensortap_op_id add_op(tensortap_session* session, const std::string& name, const char* type = "Toy") {
  tensortap_op op{};
  op.size = sizeof(op);
  op.name = name.c_str();
  op.type = type;
  op.parent = TENSORTAP_NO_OP;
  return tensortap_register_op(session, &op);
}

// One float tensor of one dimension.
struct FloatTensor {
  explicit FloatTensor(const std::vector<float>& values, uint32_t kind = TENSORTAP_SLOT_OUTPUT, uint32_t index = 0)
      : dims{static_cast<int64_t>(values.size())} {
    c.size = sizeof(c);
    c.dtype = TENSORTAP_FLOAT32;
    c.data = values.data();
    c.dims = dims.data();
    c.rank = 1;
    c.slot_kind = kind;
    c.slot_index = index;
    c.element = -1;
  }
  FloatTensor(const FloatTensor&) = delete;
  FloatTensor& operator=(const FloatTensor&) = delete;
  std::array<int64_t, 1> dims;
  tensortap_tensor c{};
};

inline tensortap_op_event event_of(tensortap_op_id op, int64_t step, const tensortap_tensor* tensors, uint64_t count, uint64_t run = 0) {
  tensortap_op_event event{};
  event.size = sizeof(event);
  event.op = op;
  event.step = step;
  event.run = run;
  event.duration_ns = -1;
  event.tensors = tensors;
  event.tensor_count = count;
  return event;
}

inline void run_op(tensortap_session* session, tensortap_op_id op, int64_t step, const std::vector<float>& values, uint64_t run = 0) {
  const FloatTensor tensor(values);
  const tensortap_op_event event = event_of(op, step, &tensor.c, 1, run);
  tensortap_on_op(session, &event);
}

inline nlohmann::json report_of(tensortap_session* session) {
  const std::unique_ptr<char, void (*)(void*)> text(tensortap_session_report(session), [](void* report) { tensortap_free(report); });
  return text == nullptr ? nlohmann::json() : nlohmann::json::parse(text.get());
}

inline uint64_t lost_for(const nlohmann::json& report, const std::string& reason) {
  for (const auto& loss : report["losses"]) {
    if (loss["reason"] == reason) return loss["count"];
  }
  return 0;
}

inline std::unique_ptr<tensortap::DumpIndex> read_dump(const std::string& path) {
  auto dump = tensortap::open_dump(path);
  EXPECT_TRUE(dump.ok()) << dump.status().message();
  return dump.ok() ? *std::move(dump) : nullptr;
}

inline std::vector<float> floats_of(const tensortap::DumpIndex& dump, size_t row) {
  const auto data = dump.data(row);
  EXPECT_TRUE(data.ok()) << data.status().message();
  if (!data.ok()) return {};
  const auto* values = static_cast<const float*>(data->view.data);
  return {values, values + dump.rows()[row].numel};
}

}  // namespace toy

#endif  // TENSORTAP_TESTS_TOY_ENGINE_H_
