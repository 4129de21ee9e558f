#include "source/acl/failure.h"

#include <mutex>
#include <set>

#include "base/message.h"
#include "base/text.h"

namespace tensortap::acl_source {
namespace {

struct RecentMessage {
  std::string text;
  std::string taken;
  bool is_new = false;
};

thread_local aclError runtime_error = ACL_SUCCESS;

RecentMessage& recent_message() {
  static thread_local RecentMessage message;
  return message;
}

}  // namespace

aclError fail(aclError code, const std::string& message) {
  RecentMessage& recent = recent_message();
  recent.text = concat("error ", code, ": ", message);
  recent.is_new = true;
  return code;
}

aclError bad_handle(const char* what) {
  return fail(ACL_ERROR_INVALID_PARAM, concat("this is no ", what, " of this library, or it was destroyed"));
}

const char* take_message() {
  RecentMessage& recent = recent_message();
  if (!recent.is_new) return nullptr;
  recent.is_new = false;
  recent.taken = std::move(recent.text);
  return recent.taken.c_str();
}

aclError remember_runtime_error(aclError code) noexcept {
  if (code != ACL_SUCCESS) runtime_error = code;
  return code;
}

aclError last_runtime_error() noexcept { return runtime_error; }

void forget_runtime_error() noexcept { runtime_error = ACL_SUCCESS; }

void warn_once(const std::string& message) {
  static std::mutex* const mutex = new std::mutex;
  static std::set<std::string>* const said = new std::set<std::string>;
  {
    const std::lock_guard lock(*mutex);
    if (!said->insert(message).second) return;
  }
  say(message);
}

}  // namespace tensortap::acl_source
