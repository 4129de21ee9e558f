// The option --source-root: what `serve` and `report` share.

#ifndef TENSORTAP_CLI_FILES_SOURCE_ROOTS_H_
#define TENSORTAP_CLI_FILES_SOURCE_ROOTS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/text/arguments.h"
#include "serve/source_files.h"

namespace tensortap::cli {

inline void add_source_roots(CLI::App& app, std::vector<std::string>& roots) {
  add_repeated(app, "--source-root", roots, kDirectory, "Also show lines of source files below this folder (repeatable)");
}

// Errors: kInvalidArgument for what is not a folder.
inline Result<SourceFiles> source_files(const std::vector<std::string>& roots) {
  auto files = SourceFiles::with(roots);
  return files.ok() ? files : Result<SourceFiles>(files.status().with_context("--source-root"));
}

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_FILES_SOURCE_ROOTS_H_
