// LateContents: the contents whose copies are on their way, so that no second copy of them is made.

#ifndef TENSORTAP_SESSION_LATE_CONTENTS_H_
#define TENSORTAP_SESSION_LATE_CONTENTS_H_

#include <map>
#include <memory>
#include <mutex>

#include "session/content_cache.h"

namespace tensortap {

// The facts that a late look learns about a content. Only the writer thread uses them; it finishes that look before later ones.
struct LateContent {
  Content content;
  bool is_known = false;
};

// Thread-safe.
class LateContents {
 public:
  // That of the latest look at the content that has not ended; null when there is none.
  std::shared_ptr<LateContent> under_way(const ContentKey& key) {
    if (!key.valid()) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto found = contents_.find(key);
    return found == contents_.end() ? nullptr : found->second;
  }
  void begin(const ContentKey& key, const std::shared_ptr<LateContent>& content) {
    const std::lock_guard lock(mutex_);
    contents_.insert_or_assign(key, content);
  }
  void end(const ContentKey& key, const LateContent* content) {
    const std::lock_guard lock(mutex_);
    const auto found = contents_.find(key);
    if (found != contents_.end() && found->second.get() == content) contents_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::map<ContentKey, std::shared_ptr<LateContent>> contents_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_LATE_CONTENTS_H_
