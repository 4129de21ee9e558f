// Mending a native dump whose program died before it could finish, or whose files were cut short.

#ifndef TENSORTAP_LAYOUT_TAP_REPAIR_H_
#define TENSORTAP_LAYOUT_TAP_REPAIR_H_

#include <string>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap {

// See Layout::repair. Rows stay in their order; a row whose tensor is not whole keeps its statistics. Every file is either mended in place by cutting
// its end or replaced at once, so that a second death does no harm.
Result<RepairReport> repair_tap(const std::string& folder, bool dry_run);

}  // namespace tensortap

#endif  // TENSORTAP_LAYOUT_TAP_REPAIR_H_
