// The session that a crash file describes, so that its layout can write later what the session left.

#ifndef TENSORTAP_CRASH_CRASH_SESSION_H_
#define TENSORTAP_CRASH_CRASH_SESSION_H_

#include <string>
#include <string_view>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap {

// JSON: "layout", "spec" in the native language, and the members of `info` except for its folder.
std::string crash_session_text(const DumpInfo& info, const CaptureSpec& spec);

struct CrashSessionContent {
  DumpInfo info;  // without a folder
  CaptureSpec spec;
};
// The text is untrusted. Errors: kCorrupt, with what is wrong.
Result<CrashSessionContent> parse_crash_session(std::string_view text);
// The name of the layout alone; "tap" for the text of a version that did not store it.
std::string crash_session_layout(std::string_view text);

}  // namespace tensortap

#endif  // TENSORTAP_CRASH_CRASH_SESSION_H_
