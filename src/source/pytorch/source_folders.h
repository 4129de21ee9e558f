// Finds the folders of code that is not the program's, without the package's Python side: the first operators may run before it is loaded.

#ifndef TENSORTAP_SOURCE_PYTORCH_SOURCE_FOLDERS_H_
#define TENSORTAP_SOURCE_PYTORCH_SOURCE_FOLDERS_H_

#include <optional>
#include <string>

#include "source/pytorch/source_lines.h"

namespace tensortap::pytorch {

// The folder that holds the package tensortap; the first one counts, for good. Any thread.
void know_package_folder(const std::string& folder);
// "" as long as it is not known.
std::string known_package_folder();

// The folders that the package's source_files.py tells later, by what the interpreter knows already: nothing is imported. Nothing as long
// as torch is not being imported. With the GIL.
std::optional<ForeignCode> foreign_code_of_interpreter();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_SOURCE_FOLDERS_H_
