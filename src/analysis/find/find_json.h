// What `find` says, as JSON: the same for the command line and Python.

#ifndef TENSORTAP_FIND_FIND_JSON_H_
#define TENSORTAP_FIND_FIND_JSON_H_

#include <string_view>

#include "base/json_fwd.h"
#include "find/headroom.h"
#include "find/nonfinite_origins.h"
#include "find/patterns.h"

namespace tensortap {

// {"record", "op", "type", "slot", "step"} of a row.
Json named(const DumpIndex& dump, size_t row);
// Adds "source", "module", "phase" and "forward" of the row's op, as below. Linear in the ops.
void add_place(const DumpIndex& dump, const RecordRow& row, Json& json);

// {"step", "op", "type", "slot", "nan", "pos_inf", "neg_inf", "index", "source", "module", "phase", "forward"}; index, source and module
// are null when unknown. "forward" is null, or for an op that computes a gradient {"op", "module", "source"} of the op that it belongs to.
Json nonfinite_json(const DumpIndex& dump, const NonFiniteRecord& record);
// named() and add_place() of an input that its op read although nothing was written to its memory.
Json unwritten_json(const DumpIndex& dump, size_t row);
// {"kind", "certain", "harmless", "reached", "overflow": dtype or null, "swallowed_by": null or {"record", "op", "type", "slot", "step",
// "zero", "source", "module", "phase", "forward"}, "chain": [{"record", "op", "type", "slot", "step", "nan", "pos_inf", "neg_inf", "index",
// "source", "module", "phase", "forward", "inputs": [{"record", "min", "max", "absmax", "nonfinite"}], "missing"}]}; the origin is the last
// of the chain.
Json origin_json(const DumpIndex& dump, const NonFiniteOrigin& origin);
// {"record", "op", "type", "slot", "step", "target", "absmax", "binades", "overflows", "holds_inf", "overflow_share", "subnormal_share",
// "zero_share", "records"}.
Json headroom_json(const DumpIndex& dump, const Headroom& headroom, std::string_view target);
// {"record", "op", "type", "slot", "records"}.
Json dead_output_json(const DumpIndex& dump, const DeadOutput& dead);
// {"records", "exploding": [{"record", "op", "type", "slot", "step", "rms", "ratio"}], "vanishing": [...]}; null without gradients.
Json gradients_json(const DumpIndex& dump, const GradientReport& report);
// {"op", "type", "source", "originals"}.
Json op_source_json(const DumpIndex& dump, OpId op);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_FIND_JSON_H_
