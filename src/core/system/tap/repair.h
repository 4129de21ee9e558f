// Repairs a native dump whose program died before it could finish, or whose files were cut short.

#ifndef TENSORTAP_SYSTEM_TAP_REPAIR_H_
#define TENSORTAP_SYSTEM_TAP_REPAIR_H_

#include <string>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap::tap {

// See Layout::repair. Rows stay in their order; a row whose tensor is not whole keeps its statistics. Each file is either repaired in place
// by cutting its end, or replaced at once, so a second crash does no harm.
Result<RepairReport> repair_dump(const std::string& folder, bool dry_run);

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_REPAIR_H_
