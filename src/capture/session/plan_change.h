// What a session may change while it runs.

#ifndef TENSORTAP_SESSION_PLAN_CHANGE_H_
#define TENSORTAP_SESSION_PLAN_CHANGE_H_

#include "base/status.h"
#include "layout/layout.h"
#include "plan/capture_spec.h"

namespace tensortap {

// Whether a session that was opened with `opened` can go on with `next`. Errors: kUnsupported under the triggers overflow and watch, and
// when the layout takes no changes; kInvalidArgument naming a key that differs and cannot: layout, profile, out, dialect, levels, trigger,
// limits and what else belongs to the session as a whole.
Status check_plan_change(const CaptureSpec& opened, const CaptureSpec& next, const Layout& layout);

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_PLAN_CHANGE_H_
