// What aclInit(), the dump calls and their counterparts have switched on: the order rules of the interface.

#ifndef TENSORTAP_SOURCE_ACL_LIFECYCLE_H_
#define TENSORTAP_SOURCE_ACL_LIFECYCLE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "source/acl/dump_config.h"

namespace tensortap::acl_source {

// Thread-safe. Codes as docs/acl.md says.
class Lifecycle {
 public:
  // The one of the process; never destroyed.
  static Lifecycle& of_process();

  aclError init(const char* config_path);
  // Ends one init(), or all. `left` may be null.
  aclError finalize(bool all, uint64_t* left);

  aclError init_dump();
  aclError set_dump(const char* config_path);
  aclError finalize_dump();

  aclError start_dump_args(uint32_t type, const char* path);
  aclError stop_dump_args(uint32_t type);

  // The dump config for models that are loaded now; null = none.
  [[nodiscard]] std::shared_ptr<const DumpRequest> dump() const;
  // The dump config for single operators.
  [[nodiscard]] std::shared_ptr<const DumpRequest> dump_of_operators() const;
  // Counts the changes of these configs.
  [[nodiscard]] uint64_t generation() const;

 private:
  void take(std::shared_ptr<DumpRequest> request);
  void end_dump();

  mutable std::mutex mutex_;
  uint64_t users_ = 0;                            // guarded by mutex_
  bool dump_initialized_ = false;                 // guarded by mutex_
  std::optional<std::string> first_config_;       // text of the first config that aclInit() took; guarded by mutex_
  std::shared_ptr<const DumpRequest> dump_;       // guarded by mutex_
  std::shared_ptr<const DumpRequest> arguments_;  // guarded by mutex_
  uint64_t generation_ = 0;                       // guarded by mutex_
};

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_LIFECYCLE_H_
