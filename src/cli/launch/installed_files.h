// Where the other files of this tensortap are: beside the libraries, in the installed package as in a build folder.

#ifndef TENSORTAP_CLI_LAUNCH_INSTALLED_FILES_H_
#define TENSORTAP_CLI_LAUNCH_INSTALLED_FILES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace tensortap::cli {

struct InstalledFiles {
  std::string libraries;        // absolute paths: the folder of our libraries,
  std::string preload_library;  // and what is in it or near it
  std::string pytorch_library;
  std::string onnxruntime_library;
  std::string ggml_library;
  std::string adapter_sources;  // folder that holds source/pytorch and tensortap, "" when they are not installed
  std::string adapters;         // folder with adapters that came with the package; need not be there
  std::string python_package;   // folder that holds the package `tensortap`, "" = none

  // What programs under `exec` load.
  [[nodiscard]] std::array<std::string, 4> loaded() const { return {preload_library, pytorch_library, onnxruntime_library, ggml_library}; }
};

// What AscendCL programs are compiled with; "" where it is not installed.
struct AclFiles {
  std::string library;
  std::string headers;  // the folder to give to the compiler, which holds acl/acl.h
};
AclFiles find_acl_files();

// What is preloaded into programs over ATB, for the new string ABI and for the old one; "" where it is not installed.
struct AtbFiles {
  std::string library;
  std::string library_abi0;
};
AtbFiles find_atb_files();

// Errors: kNotFound when a library that should be beside ours is missing.
Result<InstalledFiles> find_installed_files();

// The sources of the adapters. The hash changes with every byte of them.
struct AdapterSources {
  std::vector<std::string> files;  // absolute paths of the .cc files
  int interface_version = 0;
  std::string hash;  // hexadecimal
};
// Errors: kNotFound when the sources are not installed or are incomplete.
Result<AdapterSources> find_adapter_sources(const InstalledFiles& installed);

std::string hexadecimal(uint64_t number);

// Where this user's files are kept that can be made again: "tensortap" below XDG_CACHE_HOME, or ~/.cache. Errors: kNotFound without a home.
Result<std::string> user_cache_folder();

// The folder where adapters built from these sources are kept: below XDG_CACHE_HOME, or ~/.cache. Errors: kNotFound without a home.
Result<std::string> adapter_cache(const AdapterSources& sources);

// The folders that are searched for adapters, in order: that of the package, which serves PyTorch's own releases alone; the user's cache.
std::vector<std::string> adapter_folders(const InstalledFiles& installed);

// "2.4 to 2.15": the releases of torch that adapters came with the package for, "" = none.
std::string adapter_releases(const InstalledFiles& installed);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_INSTALLED_FILES_H_
