// Finds the folders of code that is not the program's, without the package's Python side: the first operators may run before it is loaded.

#ifndef TENSORTAP_SOURCE_PYTORCH_PYTHON_SOURCE_FOLDERS_H_
#define TENSORTAP_SOURCE_PYTORCH_PYTHON_SOURCE_FOLDERS_H_

#include <optional>
#include <string>
#include <vector>

namespace tensortap::pytorch {

// Whose code is not the program's: files below `folders`, unless a folder of `except` holds them more closely (site-packages in that of the
// standard library; torch in site-packages is in `folders` again). A folder may be a single file. Code frozen into Python or made by torch
// is not the program's either.
struct ForeignCode {
  std::vector<std::string> folders;
  std::vector<std::string> except;
};
// The folder that holds the package tensortap; the first one counts, for good. Any thread.
void know_package_folder(const std::string& folder);
// "" as long as it is not known.
std::string known_package_folder();

// The folders that the package's source_files.py tells later, by what the interpreter knows already: nothing is imported. Nothing as long
// as torch is not being imported. With the GIL.
std::optional<ForeignCode> foreign_code_of_interpreter();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_PYTHON_SOURCE_FOLDERS_H_
