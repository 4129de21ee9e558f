// DumpData files of small devices: fixed structures instead of a message.

#ifndef TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_NANO_H_
#define TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_NANO_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "format/dump_data/dump_data_file.h"

namespace tensortap {

// Whether the bytes behind the length are such a header.
bool is_dump_data_nano(std::span<const std::byte> header);

// `header` is what follows the length, as long as it says. Errors: kCorrupt.
Result<DumpDataFile> parse_dump_data_nano(std::span<const std::byte> header, uint64_t file_bytes);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_NANO_H_
