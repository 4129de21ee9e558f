// Tensor files of any format into files of another.

#ifndef TENSORTAP_CONVERT_TENSOR_FILES_H_
#define TENSORTAP_CONVERT_TENSOR_FILES_H_

#include <string>
#include <vector>

#include "convert/conversion.h"
#include "convert/target_folder.h"

namespace tensortap {

// Converts each file by itself; what fails is added to the report. For dump_data, files called DUMP.input.0.npy, DUMP.output.0.npy and so
// on become one file DUMP. `one_file` is the target's name when it is to be a file, "" when it is a folder.
void convert_tensor_files(const std::vector<std::string>& paths, const ConvertRequest& request, const std::string& one_file,
                          TargetFolder& target, ConvertReport& report);

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_TENSOR_FILES_H_
