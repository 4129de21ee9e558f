// Repairs a dump whose program died.

#ifndef TENSORTAP_READ_REPAIR_DUMP_H_
#define TENSORTAP_READ_REPAIR_DUMP_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "crash/settle_crash.h"
#include "layout/layout.h"

namespace tensortap {

struct CrashSettled {
  std::string file;  // the crash file, which is gone
  SettledCrash content;
};
struct CrashesSettled {
  std::vector<CrashSettled> settled;
  std::vector<std::string> problems;  // of those that stay, one sentence each
};
// Does settle_crash() for every crash file in the folder of a dump and in those of further models in it, except for those of layouts whose
// readers take them as they are.
CrashesSettled settle_crashes(const std::string& folder, bool dry_run);

// Repairs the dump that locate_dump() finds at `path`: keeps its complete parts and reports the losses. Idempotent. Changes nothing in a
// healthy dump or with `dry_run`. Errors: kUnsupported for layouts that cannot be repaired.
Result<RepairReport> repair_dump(const std::string& path, bool dry_run);

// repair_dump() of one of several dumps.
struct RepairedPart {
  std::string folder;
  RepairReport report;
};
// Repairs every dump_parts() of `path` or, if there are none, what repair_dump() finds. If a part cannot be repaired, or a link leads to
// it, its actions contain the reason, unless it is the only part. Errors: as repair_dump().
Result<std::vector<RepairedPart>> repair_parts(const std::string& path, bool dry_run);

}  // namespace tensortap

#endif  // TENSORTAP_READ_REPAIR_DUMP_H_
