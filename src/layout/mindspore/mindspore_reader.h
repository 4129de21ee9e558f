// Reads the trees that MindSpore's dump leaves, of every version from 1.3 on. docs/layouts/mindspore_reading.md is the authority.

#ifndef TENSORTAP_LAYOUT_MINDSPORE_MINDSPORE_READER_H_
#define TENSORTAP_LAYOUT_MINDSPORE_MINDSPORE_READER_H_

#include <memory>
#include <string>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap {

// The row of the registry (src/registry/layouts.cc).
//
// A tree may be given at any level: the folder that holds rank_N, rank_N, the net's, the graph's and an iteration's folder; also the folders of
// asynchronous dumps. kMaybe for folders that only the names of their files tell of.
Confidence recognise_mindspore_tree(const std::string& folder);
// Errors: kNotFound when nothing of a dump is there. Everything else that is wrong stands in problems().
Result<std::unique_ptr<DumpIndex>> open_mindspore(const std::string& folder);

}  // namespace tensortap

#endif  // TENSORTAP_LAYOUT_MINDSPORE_MINDSPORE_READER_H_
