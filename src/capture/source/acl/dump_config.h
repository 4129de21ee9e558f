// Reading a dump config: the checks of the file itself, then those of its content, each with the code that AscendCL gives.

#ifndef TENSORTAP_SOURCE_ACL_DUMP_CONFIG_H_
#define TENSORTAP_SOURCE_ACL_DUMP_CONFIG_H_

#include <memory>
#include <string>

#include "acl/acl_base.h"
#include "source/acl/engine.h"

namespace tensortap::acl_source {

// Who reads: aclInit() gives another code for a text that is no JSON.
enum class ConfigReader { kInit, kSetDump };

struct ConfigOutcome {
  aclError code = ACL_SUCCESS;
  // Null when the config asks for nothing. Without a timestamp.
  std::shared_ptr<DumpRequest> request;
  std::string text;
};

// What tensortap_check_config() reports, with its code as "status".
Json check_config(const std::string& text, const std::string& name, const char* dialect);
// The text of a member; "" without one.
std::string text_member(const Json& object, const char* key);

// The message of a failure is kept for aclGetRecentErrMsg().
ConfigOutcome read_dump_config(const char* path, ConfigReader reader);

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_DUMP_CONFIG_H_
