// The dumps that one run left: a program's further processes, ranks and models have folders of their own below the dump of the first.

#ifndef TENSORTAP_READ_DUMP_PARTS_H_
#define TENSORTAP_READ_DUMP_PARTS_H_

#include <string>
#include <vector>

namespace tensortap {

// The folders of the dumps at `folder` and in its part folders (rank_N, process_PID, model_NAME), the outermost first; empty when no dump
// is there. A tree that processes share is one dump, whatever its folders are called.
std::vector<std::string> dump_parts(const std::string& folder);

// Folders of the dumps noise1, noise2... that `tensortap run --noise` left in the folder of the dump at `path`, as open_dump() finds it.
std::vector<std::string> noise_dumps(const std::string& path);

}  // namespace tensortap

#endif  // TENSORTAP_READ_DUMP_PARTS_H_
