// The timeline of a dump as a Perfetto trace.

#ifndef TENSORTAP_CONVERT_PERFETTO_TRACE_H_
#define TENSORTAP_CONVERT_PERFETTO_TRACE_H_

#include <string>

#include "base/status.h"
#include "convert/conversion.h"
#include "convert/target_folder.h"
#include "trace/dump_index.h"

namespace tensortap {

// Writes `file` ("" = trace.pftrace) from the records at request.step: a process for each rank, in it a track for each thread with a slice
// for each execution of an op whose duration was measured, an instant for each output with NaN or Inf, a track of the steps, and counters
// of the largest absolute value and of the bytes of each op's outputs. Slices of one thread nest: one that would cut another begins where
// that ends.
// Errors, with nothing written: kInvalidArgument for a wrong step, or when no duration was measured.
Status export_perfetto(const DumpIndex& dump, const ConvertRequest& request, const std::string& file, const ConvertProgress& progress,
                       TargetFolder& target, ConvertReport& report);

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_PERFETTO_TRACE_H_
