// What `dump_list` picks, as selectors of a spec.

#ifndef TENSORTAP_SYSTEM_ASCEND_CONFIG_SELECTORS_H_
#define TENSORTAP_SYSTEM_ASCEND_CONFIG_SELECTORS_H_

#include "plan/capture_spec.h"
#include "system/ascend/config/acl_settings.h"

namespace tensortap::ascend {

// Fills include, exclude, watchers, model_ops and single_ops, and adds notes. Selectors that pick nothing are notes, as AscendCL dumps
// nothing for them.
void set_selectors(const Settings& settings, CaptureSpec& spec);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_CONFIG_SELECTORS_H_
