#include "cli/launch/atb_home.h"

#include <optional>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/launch/elf_file.h"

namespace tensortap::cli {
namespace {

// What libatb.so calls when it is compiled with the new strings; msit looks for any function of Probe with "cxx11" in its name.
constexpr std::string_view kNewStrings = "_ZN3atb5Probe9SaveParamERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES8_";

}  // namespace

Result<std::string> atb_preload(const AtbFiles& installed, std::string& warning) {
  const std::optional<std::string> home = environment_value("ATB_HOME_PATH");
  if (!home) return std::string();
  const std::string path = join_path(*home, "lib/libatb.so");
  if (!path_exists(path)) {
    warning = concat("ATB_HOME_PATH is set, but ", path, " does not exist; the program is captured as one of PyTorch or ONNX Runtime");
    return std::string();
  }
  TENSORTAP_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  const std::optional<ElfFile> library = ElfFile::parse(file.bytes());
  if (!library) return invalid_argument(concat(path, " is not a library for this type of machine; set ATB_HOME_PATH to ATB's own folder"));
  const std::string& preload = library->defines(kNewStrings) ? installed.library : installed.library_abi0;
  if (preload.empty()) return not_found("the library for programs over ATB is missing; tensortap is not installed completely");
  return preload;
}

}  // namespace tensortap::cli
