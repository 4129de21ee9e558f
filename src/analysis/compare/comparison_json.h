// A comparison as JSON: the same for the command line and Python.

#ifndef TENSORTAP_COMPARE_COMPARISON_JSON_H_
#define TENSORTAP_COMPARE_COMPARISON_JSON_H_

#include "base/json_fwd.h"
#include "compare/dump_comparison.h"

namespace tensortap {

// One pair of records; docs/comparison.md lists the members. A missing measure is null.
Json compared_json(const DumpComparison& comparison, const ComparedValue& value);
// {"unpaired": "A" or "B", "value", "type", "why", "by"}.
Json unpaired_json(const DumpComparison& comparison, const Unpaired& one, bool of_a);
// {"summary": {...}}, complete after run().
Json summary_json(const DumpComparison& comparison);

// Name of the record in its dump, as `show` takes it.
std::string record_name_of(const DumpIndex& dump, uint32_t row);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_COMPARISON_JSON_H_
