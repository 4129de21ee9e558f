#include "api/config_follower.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

constexpr uint64_t kMostBytes = uint64_t{64} << 20;

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_ino == other.st_ino && one.st_size == other.st_size && one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
         one.st_mtim.tv_nsec == other.st_mtim.tv_nsec && one.st_ctim.tv_sec == other.st_ctim.tv_sec &&
         one.st_ctim.tv_nsec == other.st_ctim.tv_nsec;
}

// The text of the file with its members replaced by those of `over`. read_config() reports what is wrong with either.
std::string laid_over(const std::string& text, const std::string& path, const std::string& over) {
  std::vector<std::string> repeated;
  Result<Json> config = parse_json(text, path, repeated);
  const Result<Json> members = parse_json(over.empty() ? "{}" : over, "follow.over", repeated);
  if (!config.ok() || !config->is_object() || !members.ok() || !members->is_object() || members->empty()) return text;
  config->update(*members);
  return to_json_text(*config);
}

}  // namespace

bool captures_device(const CaptureSpec& spec, int device) {
  return spec.devices.empty() || std::ranges::find(spec.devices, static_cast<uint64_t>(device)) != spec.devices.end();
}

bool ConfigFollower::has_changed() {
  struct stat now {};
  if (stat(opened_.follow.path.c_str(), &now) != 0) now = {};
  const bool changed = !looked_ || !same_file(seen_, now);
  looked_ = true;
  seen_ = now;
  return changed;
}

Result<CaptureSpec> ConfigFollower::read() const {
  const std::string& path = opened_.follow.path;
  TENSORTAP_ASSIGN_OR_RETURN(const std::string text, read_file(path, kMostBytes));
  // By itself first, so that places in messages are those of the file.
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec said, read_config(text, path, opened_.dialect));
  TENSORTAP_ASSIGN_OR_RETURN(said, read_config(laid_over(text, path, opened_.follow.over), path, opened_.dialect));
  CaptureSpec next = opened_;
  next.include = std::move(said.include);
  next.exclude = std::move(said.exclude);
  next.steps = !device_ || captures_device(said, *device_) ? std::move(said.steps) : StepSet::never();
  if (!device_) next.devices = std::move(said.devices);
  return next;
}

Result<std::optional<CaptureSpec>> ConfigFollower::look() {
  const int64_t now = monotonic_ns();
  if (now < next_look_.load(std::memory_order_relaxed)) return std::optional<CaptureSpec>();
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return std::optional<CaptureSpec>();
  next_look_.store(now + interval_, std::memory_order_relaxed);
  if (!has_changed()) return std::optional<CaptureSpec>();
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec next, read());
  return std::optional(std::move(next));
}

}  // namespace tensortap
