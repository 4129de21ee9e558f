// Error codes of the interface with a message for people; nothing thrown leaves the library.

#ifndef TENSORTAP_SOURCE_ACL_FAILURE_H_
#define TENSORTAP_SOURCE_ACL_FAILURE_H_

#include <new>
#include <string>
#include <utility>

#include "acl/acl_base.h"

namespace tensortap::acl_source {

// Keeps `message` as the thread's last one and returns `code`.
aclError fail(aclError code, const std::string& message);
// A handle that is null, of another kind, or gone.
aclError bad_handle(const char* what);
// The thread's last message; null when there is none. Valid until the thread's next call of either function; the next call of this one
// gives null.
const char* take_message();

// One line on stderr for each different text. For what no error code can say to the program.
void warn_once(const std::string& message);

// Runs the body of a C function.
template <class Body>
aclError answer(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return ACL_ERROR_BAD_ALLOC;
  } catch (...) {
    return ACL_ERROR_INTERNAL_ERROR;
  }
}

// Keeps a code that a runtime function (aclrt...) returns in this thread, for aclrtGetLastError(). Success changes nothing.
aclError remember_runtime_error(aclError code) noexcept;
// The thread's last one; ACL_SUCCESS when there is none.
aclError last_runtime_error() noexcept;
void forget_runtime_error() noexcept;

// Runs the body of a runtime function.
template <class Body>
aclError answer_runtime(Body&& body) noexcept {
  return remember_runtime_error(answer(std::forward<Body>(body)));
}

// The same for functions that return something else than a code.
template <class Value, class Body>
Value answer_or(Value otherwise, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return otherwise;
  }
}

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_FAILURE_H_
