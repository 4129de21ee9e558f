// `tensortap compare --replay`: the error of each op of A alone, on the runtime of B.

#ifndef TENSORTAP_CLI_LAUNCH_OWN_ERRORS_H_
#define TENSORTAP_CLI_LAUNCH_OWN_ERRORS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/json_fwd.h"
#include "cli/text/terminal.h"
#include "replay/replay.h"
#include "trace/dump_index.h"

namespace tensortap::cli {

class OwnErrors {
 public:
  // Replays every op of `a`. `runtime` is the path of a library, "" = the one that made `b`. Errors: no runtime; nothing to replay.
  static Result<OwnErrors> measure(const DumpIndex& a, const DumpIndex& b, const std::string& runtime, const Terminal& terminal);

  // For an output of A: {"outcome", "relative_l2", "max_abs", "max_ulp", "reason"}; null where no op made it.
  [[nodiscard]] Json json_of(uint32_t row_a) const;
  // Relative L2; nothing where it was not replayed.
  [[nodiscard]] std::optional<double> error_of(uint32_t row_a) const;
  // Cells for the end of a CSV line, and their titles, each with a comma in front.
  [[nodiscard]] std::string csv_cells(uint32_t row_a) const;
  static std::string csv_titles();
  // The summary of replay/replay_json.h, with "runtime" and "recorded".
  [[nodiscard]] Json summary() const;

 private:
  struct Own {
    ReplayOutcome outcome = ReplayOutcome::kNotReplayed;
    double relative_l2 = 0;
    double max_abs = 0;
    uint64_t max_ulp = 0;
    std::string reason;
  };
  OwnErrors() = default;
  std::unordered_map<uint32_t, Own> by_row_;
  std::string summary_;  // JSON text
};

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_OWN_ERRORS_H_
