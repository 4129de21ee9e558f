// The name of a record's tensor.

#ifndef TENSORTAP_QUERY_VALUE_NAME_H_
#define TENSORTAP_QUERY_VALUE_NAME_H_

#include <string>

#include "trace/dump_index.h"

namespace tensortap {

// The name of a value, a parameter or a buffer, or what the op calls the slot; "" where there is none. An op of several calls has the names
// of one of them: where the record is of another one, its name is that under which another record has the same memory. Linear in the
// records then.
std::string value_name(const DumpIndex& dump, const RecordRow& row);

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_VALUE_NAME_H_
