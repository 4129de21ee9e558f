// A config file that controls what a running session captures, and that may change meanwhile.

#ifndef TENSORTAP_API_CONFIG_FOLLOWER_H_
#define TENSORTAP_API_CONFIG_FOLLOWER_H_

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/status.h"
#include "plan/capture_spec.h"

namespace tensortap {

// Thread-safe: one thread at a time looks, others go on.
class ConfigFollower {
 public:
  static constexpr int64_t kInterval = 1'000'000'000;

  // `opened`: the spec that opened the session; its `follow.path` is not empty. `device`: that of this process; nothing where devices do
  // not matter for the session's steps. `interval`: ns from look to look.
  ConfigFollower(CaptureSpec opened, std::optional<int> device, int64_t interval = kInterval)
      : opened_(std::move(opened)), device_(device), interval_(interval) {}

  // Looks at the file, at most once in each interval. Returns the new spec if the file has changed since the last look, otherwise nothing.
  // Errors, once for each change of the file: it does not exist, or is no config; the earlier spec then stays in effect.
  Result<std::optional<CaptureSpec>> look();

 private:
  [[nodiscard]] bool has_changed();
  Result<CaptureSpec> read() const;

  const CaptureSpec opened_;
  const std::optional<int> device_;
  const int64_t interval_;
  std::atomic<int64_t> next_look_{0};
  std::mutex mutex_;  // of what is below
  struct stat seen_ {};
  bool looked_ = false;
};

// Whether a process on this device takes part.
bool captures_device(const CaptureSpec& spec, int device);

}  // namespace tensortap

#endif  // TENSORTAP_API_CONFIG_FOLLOWER_H_
