// Who could have written a file that we are about to load as code.
//
// A user who can replace such a file, or rename a folder on the way to it, runs code in the process that loads it. So each of these must
// belong to the effective user or to root, and no other user may write it: the file, every folder from the root to it, and every link on
// the way. One exception: in a folder like /tmp (root's, sticky) others can add entries, but cannot touch ours.
//
// Files installed beside our own libraries follow another rule: they must not be more open than the folder of those libraries. A user who
// can write there can replace the libraries, which run already.

#ifndef TENSORTAP_BASE_CODE_FILE_H_
#define TENSORTAP_BASE_CODE_FILE_H_

#include <string>

#include "base/status.h"

namespace tensortap {

// The path to load the file by: absolute and without links. No other user can make this path mean another file afterwards, since each name
// in it was looked up in a folder that only the effective user and root can change, which is why it may be opened again by name.
// `own_folder` is the folder of our libraries, "" = none. Errors: kUnsupported naming what others can change, and how to fix it; kNotFound
// and kIo as for any file.
Result<std::string> trusted_code_file(const std::string& path, const std::string& own_folder);

// The same of a folder that is to hold such files.
Result<std::string> trusted_code_folder(const std::string& path, const std::string& own_folder);

// Whether the loader of libraries will not wait for this path: kNotFound, and the errors of File::open() for pipes, devices and folders.
Status check_library_file(const std::string& path);

// The folder of the library or program that `address` is in, as the loader knows it; "" when that is unknown.
std::string folder_of_code(const void* address);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_CODE_FILE_H_
