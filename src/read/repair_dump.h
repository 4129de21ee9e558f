// Mending a dump whose program died.

#ifndef TENSORTAP_READ_REPAIR_DUMP_H_
#define TENSORTAP_READ_REPAIR_DUMP_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "layout/layout.h"
#include "layout/settle_crash.h"

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

// Mends the dump that locate_dump() finds at `path`: keeps what is complete and says what is lost. Idempotent; a healthy dump is not
// touched, nor is anything when `dry_run`. Errors: kUnsupported for layouts that cannot be mended.
Result<RepairReport> repair_dump(const std::string& path, bool dry_run);

// repair_dump() of one of several dumps.
struct RepairedPart {
  std::string folder;
  RepairReport report;
};
// Mends every dump_parts() of `path`, or, where there are none, what repair_dump() finds. A part that cannot be mended, or to which a link
// leads, has the reason among its actions, unless it is the only one. Errors: as repair_dump().
Result<std::vector<RepairedPart>> repair_parts(const std::string& path, bool dry_run);

}  // namespace tensortap

#endif  // TENSORTAP_READ_REPAIR_DUMP_H_
