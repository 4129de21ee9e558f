// Records of an open dump into a dump of another layout, or into a file each.

#ifndef TENSORTAP_CONVERT_DUMP_RECORDS_H_
#define TENSORTAP_CONVERT_DUMP_RECORDS_H_

#include <string>

#include "convert/conversion.h"
#include "convert/target_folder.h"
#include "layout/layout.h"
#include "trace/dump_index.h"

namespace tensortap {

// Writes every record into a new dump in `folder`, which exists. Of values that cannot be read only the statistics remain; losses of the
// layout are added to the report. Errors: those of the layout when it begins or ends.
Status copy_dump(const DumpIndex& dump, const std::string& source, const Layout& layout, const std::string& folder,
                 const ConvertProgress& progress, ConvertReport& report);

// Writes the values of every record as STEP/TYPE.NAME.OP.THREAD.NUMBER.output.0.npy.
void export_records(const DumpIndex& dump, const ConvertProgress& progress, TargetFolder& target, ConvertReport& report);

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_DUMP_RECORDS_H_
