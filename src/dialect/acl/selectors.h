// What `dump_list` picks, as selectors of a spec.

#ifndef TENSORTAP_DIALECT_ACL_SELECTORS_H_
#define TENSORTAP_DIALECT_ACL_SELECTORS_H_

#include "dialect/acl/settings.h"
#include "plan/capture_spec.h"

namespace tensortap::acl {

// Fills include, exclude, watchers, model_ops and single_ops, and adds notes. Selectors that pick nothing are notes, as AscendCL dumps nothing for
// them.
void set_selectors(const Settings& settings, CaptureSpec& spec);

}  // namespace tensortap::acl

#endif  // TENSORTAP_DIALECT_ACL_SELECTORS_H_
