#include "read/repair.h"

#include "base/text.h"
#include "read/open_dump.h"

namespace tensortap {

Result<RepairReport> repair_dump(const std::string& path, bool dry_run) {
  TENSORTAP_ASSIGN_OR_RETURN(const FoundDump found, locate_dump(path));
  if (found.layout->repair == nullptr)
    return unsupported(concat(found.folder, ": dumps of the layout ", found.layout->name, " can not be mended"));
  return found.layout->repair(found.folder, dry_run);
}

}  // namespace tensortap
