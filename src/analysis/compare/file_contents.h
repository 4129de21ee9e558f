// Which records of a tree of files hold the same elements.

#ifndef TENSORTAP_COMPARE_FILE_CONTENTS_H_
#define TENSORTAP_COMPARE_FILE_CONTENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

// Text of the digest of a record's elements, "" where these cannot be read and no digest was captured. Reads the data where there are any.
std::string content_digest(const DumpIndex& dump, size_t row);

// By row: a number that is equal for equal types and elements, 0 where these cannot be read. Empty for dumps that know by themselves what
// an op read (memory or edges), and for those without inputs. Reads the data of every record without a digest.
std::vector<uint64_t> file_contents(const DumpIndex& dump);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_FILE_CONTENTS_H_
