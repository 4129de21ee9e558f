// Reads the trees that AscendCL's dump leaves, ours and the real ones. docs/layouts/ge.md is the authority.

#ifndef TENSORTAP_LAYOUT_GE_GE_READER_H_
#define TENSORTAP_LAYOUT_GE_GE_READER_H_

#include <memory>
#include <string>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap {

// The row of the registry (src/registry/layouts.cc).
//
// A tree may be given at any level: the folder that holds those named by a time, one of these, a device's, a model's, a step's.
Confidence recognise_ge(const std::string& folder);
// Errors: kNotFound when nothing of a dump is there. Everything else that is wrong stands in problems().
Result<std::unique_ptr<DumpIndex>> open_ge(const std::string& folder);

}  // namespace tensortap

#endif  // TENSORTAP_LAYOUT_GE_GE_READER_H_
