// The dumps of one run. A program's further processes, ranks and models have separate folders below the dump of the first.

#ifndef TENSORTAP_READ_DUMP_PARTS_H_
#define TENSORTAP_READ_DUMP_PARTS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"

namespace tensortap {

// The folders of the dumps at `folder` and in its part folders (rank_N, process_PID, model_NAME), the outermost first; empty if it has no
// dump. A tree that processes share is one dump, whatever its folders are called.
std::vector<std::string> dump_parts(const std::string& folder);

// The name of the part in the run's own folder.
inline constexpr std::string_view kFirstPart = "first";

// One of the dumps that a run left.
struct DumpPart {
  std::string path;  // its folder
  std::string name;  // its folder below that of the run, such as "process_4711" or "rank_1/model_x", or kFirstPart
  std::string role;  // name, title or command of its process (base/process_role.h); "" = unknown
};

// The parts of the dump at `path`, the outermost first; one for a file of tensors. A folder that a process or a rank made and that holds no
// dump any more is a part that cannot be opened. Errors: those of locate_dump().
Result<std::vector<DumpPart>> find_parts(const std::string& path);

// The one whose folder, or report in JSON, is at `path`, of a run in `folder`.
DumpPart part_at(const std::string& folder, const std::string& path);

// The parts among `parts` that `words` name: "process_4711,rank_1", each the name of a part, the name of a folder that holds parts, or a
// piece of a role. "" = all. Errors: kNotFound naming the existing parts.
Result<std::vector<DumpPart>> chosen_parts(std::span<const DumpPart> parts, std::string_view words);

// "process_4711 (SpawnProcess-1)".
std::string part_title(const DumpPart& part);
// "3 processes", "4 processes of 2 ranks", "2 ranks", "3 models": what these parts are of.
std::string parts_text(std::span<const DumpPart> parts);
// {"part", "role", "path"}: what every answer about one of several parts says of it.
Json part_json(const DumpPart& part);

// Folders of the dumps noise1, noise2... that `tensortap run --noise` left in the folder of the dump at `path`, as open_dump() finds it.
std::vector<std::string> noise_dumps(const std::string& path);

}  // namespace tensortap

#endif  // TENSORTAP_READ_DUMP_PARTS_H_
