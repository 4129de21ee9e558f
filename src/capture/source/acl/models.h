// The loaded models of the process, by number.

#ifndef TENSORTAP_SOURCE_ACL_MODELS_H_
#define TENSORTAP_SOURCE_ACL_MODELS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "source/acl/engine.h"
#include "source/acl/model_interface.h"

namespace tensortap::acl_source {

// Where a model comes from.
struct ModelSource {
  std::string path;             // "" = bytes
  std::span<const char> bytes;  // empty = path
};

// Thread-safe.
class Model {
 public:
  Model(uint32_t id, std::shared_ptr<const ModelInterface> interface, std::unique_ptr<EngineModel> engine)
      : id_(id), interface_(std::move(interface)), engine_(std::move(engine)) {}

  [[nodiscard]] uint32_t id() const { return id_; }
  [[nodiscard]] const std::shared_ptr<const ModelInterface>& interface() const { return interface_; }
  [[nodiscard]] EngineModel& engine() const { return *engine_; }

  // Shapes of the outputs of the last run, or of the sizes that were set since; empty before both.
  [[nodiscard]] Shapes current_outputs() const;
  void set_current_outputs(Shapes shapes);

 private:
  const uint32_t id_;
  const std::shared_ptr<const ModelInterface> interface_;
  const std::unique_ptr<EngineModel> engine_;
  mutable std::mutex mutex_;
  Shapes current_outputs_;  // guarded by mutex_
};

// Thread-safe.
class Models {
 public:
  // The one of the process; never destroyed.
  static Models& of_process();

  // Loads with the dump that holds now. The message of a failure is kept, and printed on stderr.
  aclError load(const ModelSource& source, uint32_t* id);
  // ACL_ERROR_INVALID_MODEL_ID for an unknown model. The dump is finished when the last run has ended.
  aclError unload(uint32_t id);
  [[nodiscard]] std::shared_ptr<Model> find(uint32_t id) const;
  [[nodiscard]] std::vector<std::shared_ptr<Model>> all() const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<uint32_t, std::shared_ptr<Model>> models_;  // guarded by mutex_
  std::atomic<uint32_t> last_id_{0};
};

aclError no_such_model(uint32_t id);

// The interface of a model that is not loaded for running.
aclError read_interface(const ModelSource& source, std::shared_ptr<const ModelInterface>& interface);

// Bytes of the file, or those given.
aclError model_bytes(const ModelSource& source, uint64_t& bytes);

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_MODELS_H_
