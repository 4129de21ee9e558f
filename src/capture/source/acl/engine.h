// A model loaded by the ONNX Runtime source, through its C interface.

#ifndef TENSORTAP_SOURCE_ACL_ENGINE_H_
#define TENSORTAP_SOURCE_ACL_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/json_fwd.h"
#include "base/status.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::acl_source {

class ExecPlaces;

// What to capture of the models that are loaded while it holds: an accepted dump config. Immutable.
struct DumpRequest {
  std::string config;       // text
  std::string config_name;  // its path
  std::string kind;         // of tensortap_check_config()
  std::string folder;       // where its trees go, absolute; "" = the config names none
  std::string scene;        // of an exception dump: "brief", "norm" or "detail"
  std::string timestamp;    // YYYYmmddHHMMSS
  bool models = true;       // something may be captured of models
  bool operators = false;   // something may be captured of operators that are called by themselves
  // Where each model's dump goes, of a dump that `tensortap exec` asked for; null = where the config says.
  std::shared_ptr<ExecPlaces> places;
};

struct EngineRequest {
  std::string path;             // "" with bytes
  std::span<const char> bytes;  // empty with a path
  std::string name;             // "" = that of the graph
  uint32_t model_id = 0;
  int32_t device = 0;
  bool single_op = false;
  const DumpRequest* dump = nullptr;  // null = plain
};

class ChunkDelivery;

// Thread-safe.
class EngineModel {
 public:
  static Result<std::unique_ptr<EngineModel>> open(const EngineRequest& request);
  EngineModel(const EngineModel&) = delete;
  EngineModel& operator=(const EngineModel&) = delete;
  // Finishes the dump.
  ~EngineModel();

  // What tensortap_onnxruntime_model_open() reported.
  [[nodiscard]] const Json& description() const { return *description_; }
  // `failed_op`: what is known of the op when it fails.
  Status run(std::span<const tensortap_tensor> inputs, const std::function<void(const tensortap_tensor&)>& on_output, Json& failed_op);
  void flush();
  void end_capture();
  // What can be done when the program ends without saying so: a run may be going on, or be what ends it.
  void finish_at_exit();

 private:
  EngineModel();
  Status run_once(std::span<const tensortap_tensor> inputs, const std::function<void(const tensortap_tensor&)>& on_output, Json& failed_op);

  std::unique_ptr<ChunkDelivery> delivery_;  // of a dump that goes to a callback
  tensortap_onnxruntime_model* model_ = nullptr;
  std::atomic<int> runs_{0};  // that are going on
  std::unique_ptr<Json> description_;
};

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_ENGINE_H_
