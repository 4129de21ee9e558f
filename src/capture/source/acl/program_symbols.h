// What the program calls of the interface, as its dynamic relocations list it.

#ifndef TENSORTAP_SOURCE_ACL_PROGRAM_SYMBOLS_H_
#define TENSORTAP_SOURCE_ACL_PROGRAM_SYMBOLS_H_

#include <span>

namespace tensortap::acl_source {

// Whether an object of the process other than this library refers to one of the functions.
bool program_refers_to(std::span<const char* const> names);

// The program sets sizes of open dimensions and never asks which ones there are: it is written for a model whose largest size counts.
bool program_sets_sizes_blindly();

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_PROGRAM_SYMBOLS_H_
