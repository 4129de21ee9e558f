// The sketch of a record as `tensortap show` tells it.

#ifndef TENSORTAP_CLI_TEXT_SKETCH_TEXT_H_
#define TENSORTAP_CLI_TEXT_SKETCH_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap::cli {

// Lines of a name and a text; none where no sketch was asked for.
std::vector<std::pair<std::string, std::string>> sketch_lines(const DumpIndex& dump, size_t row);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_SKETCH_TEXT_H_
