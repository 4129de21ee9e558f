// What `tensortap convert` does: tensor files and dumps into other formats and layouts.

#ifndef TENSORTAP_CONVERT_CONVERT_H_
#define TENSORTAP_CONVERT_CONVERT_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "convert/conversion.h"

namespace tensortap {

// Converts what it can and reports the rest. Files are added to the target; a dump needs a new or empty folder, except for trees that hold
// several. Errors, with nothing converted: kNotFound for sources that do not exist, kInvalidArgument for unknown names and combinations and
// for a target of a dump that is not empty, kIo when the target cannot be made.
Result<ConvertReport> convert(const ConvertRequest& request, const ConvertProgress& progress = {});

// Every word that ConvertRequest::to may be.
std::vector<std::string> conversion_targets();

// Name of the file in the target folder that lists sources which could not be converted; it exists when there are any, and others were.
inline constexpr const char* kFailedFileList = "convert_failed_file_list.txt";

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_CONVERT_H_
