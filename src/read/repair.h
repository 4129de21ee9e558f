// Mending a dump whose program died.

#ifndef TENSORTAP_READ_REPAIR_H_
#define TENSORTAP_READ_REPAIR_H_

#include <string>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap {

// Mends the dump that locate_dump() finds at `path`: keeps what is complete and says what is lost. Idempotent; a healthy dump is not touched, nor is
// anything when `dry_run`. Errors: kUnsupported for layouts that can not be mended.
Result<RepairReport> repair_dump(const std::string& path, bool dry_run);

}  // namespace tensortap

#endif  // TENSORTAP_READ_REPAIR_H_
