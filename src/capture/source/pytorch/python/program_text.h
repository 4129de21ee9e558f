// The text of the program's own lines, recorded with its ops: a dump may be read where the files are not, or are others.

#ifndef TENSORTAP_SOURCE_PYTORCH_PYTHON_PROGRAM_TEXT_H_
#define TENSORTAP_SOURCE_PYTORCH_PYTHON_PROGRAM_TEXT_H_

#include <string>

namespace tensortap::pytorch {

// Says which file a position means by a name such as "train.py". `path` is relative to the current folder as it is now, or absolute.
// Any thread.
void note_program_file(const std::string& shown, const std::string& path);

// The text of a line such as "train.py:41", without blanks around it and cut after 200 bytes. "" for a file that was not noted, that cannot
// be read, that has more than 4 MiB, or that has no such line. A file is read when a line of it is first asked for. Any thread.
std::string program_line(const std::string& location);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_PYTHON_PROGRAM_TEXT_H_
