// Files that a program asks for when something failed: acldumpSaveExceptionInfo().

#ifndef TENSORTAP_SOURCE_ACL_EXCEPTION_INFO_H_
#define TENSORTAP_SOURCE_ACL_EXCEPTION_INFO_H_

#include <string>

#include "acl/acl_dump.h"

namespace tensortap::acl_source {

// The folder of exception dumps of the thread's device, absolute unless the config names none, with a slash at its end. Makes it.
// ACL_ERROR_FAILURE when no exception dump is on, or when the folder cannot be made.
aclError exception_folder(std::string& folder);

// As acldumpSaveExceptionInfo() says. Thread-safe.
aclError save_exception_info(const char* file_name, const char* user_tag, const acldumpTensorInfo* tensors, size_t count);

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_EXCEPTION_INFO_H_
