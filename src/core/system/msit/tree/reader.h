// Reads what `msit llm dump` leaves. docs/layouts/msit.md is the authority.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_READER_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_READER_H_

#include <memory>
#include <string>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap::msit {

// Functions of the layout's row. A tree may be given at any level: a folder that holds msit_dump_TIME, that one, tensors, DEVICE_PID, a
// round, an operation.
Confidence recognise_tree(const std::string& folder);
// Errors: kNotFound when the folder contains no file of a dump. problems() lists everything else that is wrong.
Result<std::unique_ptr<DumpIndex>> open_tree(const std::string& folder);

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_READER_H_
