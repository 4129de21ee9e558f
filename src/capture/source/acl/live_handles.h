// The existing objects of one kind. A handle from the program is looked up here before anything is read from it.

#ifndef TENSORTAP_SOURCE_ACL_LIVE_HANDLES_H_
#define TENSORTAP_SOURCE_ACL_LIVE_HANDLES_H_

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tensortap::acl_source {

// Thread-safe. An object that was found stays alive for the finder, even if another thread removes it meanwhile.
template <class T>
class LiveHandles {
 public:
  T* add(std::shared_ptr<T> object) {
    T* const raw = object.get();
    const std::unique_lock lock(mutex_);
    objects_[raw] = std::move(object);
    return raw;
  }

  // Null when there is none.
  std::shared_ptr<T> find(const void* handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }

  std::shared_ptr<T> remove(const void* handle) {
    const std::unique_lock lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  std::vector<std::shared_ptr<T>> all() const {
    const std::shared_lock lock(mutex_);
    std::vector<std::shared_ptr<T>> objects;
    for (const auto& [handle, object] : objects_) objects.push_back(object);
    return objects;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<T>> objects_;
};

// The table of a kind. It outlives every thread and the end of main().
template <class T>
LiveHandles<T>& live() {
  static auto* const table = new LiveHandles<T>;
  return *table;
}

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_LIVE_HANDLES_H_
