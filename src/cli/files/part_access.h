// Opening all parts of the dump that a command was given: its processes, ranks and models.

#ifndef TENSORTAP_CLI_FILES_PART_ACCESS_H_
#define TENSORTAP_CLI_FILES_PART_ACCESS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/files/dump_access.h"
#include "cli/text/terminal.h"
#include "read/dump_parts.h"
#include "trace/dump_index.h"

namespace CLI {
class App;
}

namespace tensortap::cli {

// --part NAMES, as chosen_parts() takes them.
void add_part_option(CLI::App& app, std::string& chosen);

// The parts of a dump that an answer is about.
struct AskedParts {
  std::vector<DumpPart> parts;
  bool are_several = false;  // the dump has several, of which these may be a choice
};
// Errors: those of find_parts() and chosen_parts(), the latter with the name of the option. The one part of a dump that has no others is
// called by `path`.
Result<AskedParts> asked_parts(const std::string& path, std::string_view chosen);

struct OpenPart {
  DumpPart part;
  std::unique_ptr<DumpIndex> dump;
};
// Opens them and adds them to `dumps`. What was skipped, and a part that cannot be opened while another one can, is said on stderr. Errors:
// that of the first part, where none can be opened.
Result<std::vector<OpenPart>> open_parts(const Terminal& terminal, const AskedParts& asked, AnsweredDumps& dumps);

// open_for_reading() of one of these parts: where there are several, what is said on stderr names it.
Result<std::unique_ptr<DumpIndex>> open_part(const Terminal& terminal, const AskedParts& asked, const DumpPart& part);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_FILES_PART_ACCESS_H_
