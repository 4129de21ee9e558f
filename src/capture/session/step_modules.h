// The modules whose calls are the steps (`step_at` of a config).

#ifndef TENSORTAP_SESSION_STEP_MODULES_H_
#define TENSORTAP_SESSION_STEP_MODULES_H_

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plan/name_pattern.h"

namespace tensortap {

// Thread-safe.
class StepModules {
 public:
  // `expression` "" = no such modules; one that is wrong was refused before. `has_modules`: whether the source reports calls of modules.
  StepModules(const std::string& expression, bool has_modules);

  [[nodiscard]] bool are_asked_for() const { return pattern_.has_value() && has_modules_; }
  // Whether a module is one of them. To be asked once for each module that is named.
  bool is_one(const std::string& path, const std::string& type);
  // One of them was called.
  void called() { called_.store(true, std::memory_order_relaxed); }
  // What to say of an expression that began no step, "" = nothing.
  [[nodiscard]] std::string problem() const;

 private:
  const std::string expression_;
  const bool has_modules_;
  std::optional<NamePattern> pattern_;
  std::atomic<bool> called_{false};
  mutable std::mutex mutex_;           // guards what follows
  std::vector<std::string> matching_;  // the first modules that match
  std::vector<std::string> others_;    // the first modules that do not match
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_STEP_MODULES_H_
