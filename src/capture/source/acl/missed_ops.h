// Names of a dump config that no loaded model has, reported on stderr: a wrong name leaves a dump empty.

#ifndef TENSORTAP_SOURCE_ACL_MISSED_OPS_H_
#define TENSORTAP_SOURCE_ACL_MISSED_OPS_H_

#include "base/json_fwd.h"
#include "source/acl/engine.h"

namespace tensortap::acl_source::missed_ops {

// A model was loaded for this dump; `description` is its EngineModel's. Reports at once which ops the config names for this model that it
// does not have. Not for single operators, nor for a dump that `tensortap exec` asked for, which reports them itself. Thread-safe.
void model_loaded(const DumpRequest& dump, const Json& description);

// The dump takes no more models: reports which models the config names that were not loaded. Once for each dump; reports nothing if no
// model was loaded. Thread-safe.
void dump_ended(const DumpRequest& dump);

}  // namespace tensortap::acl_source::missed_ops

#endif  // TENSORTAP_SOURCE_ACL_MISSED_OPS_H_
