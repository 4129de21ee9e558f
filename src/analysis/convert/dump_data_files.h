// DumpData files into files of single tensors, named as the system's own converter names them.

#ifndef TENSORTAP_CONVERT_DUMP_DATA_FILES_H_
#define TENSORTAP_CONVERT_DUMP_DATA_FILES_H_

#include <string>

#include "convert/conversion.h"
#include "convert/target_folder.h"

namespace tensortap {

struct SourceFile {
  std::string path;
  std::string below;  // folder in the target
  std::string name;   // its own, or what mapping.csv says it was called
};

// Writes every tensor of the file: DUMP.input.0.npy and so on. Stops at the first failure. Thread-safe.
Status convert_dump_data_file(const SourceFile& source, const ConvertRequest& request, TargetFolder& target);

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_DUMP_DATA_FILES_H_
