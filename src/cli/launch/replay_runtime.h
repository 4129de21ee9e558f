// The ONNX Runtime of this machine as something that replays: through the source's C library, as `run` reaches it.

#ifndef TENSORTAP_CLI_LAUNCH_REPLAY_RUNTIME_H_
#define TENSORTAP_CLI_LAUNCH_REPLAY_RUNTIME_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/text/terminal.h"
#include "replay/replay.h"

namespace tensortap::cli {

struct ReplayRuntimeOptions {
  std::string runtime;                  // path of a library or its folder, "" = the one that is found
  std::vector<std::string> custom_ops;  // libraries
  int threads = 0;
  std::string optimization = "none";  // RuntimeOfDump's, of the dump whose ops run
};

// The library that the dump names as its runtime, if it may be loaded: the file exists, is named like a library of ONNX Runtime, and only
// the user or the system can have written it (base/code_file.h). "" if the dump names none, or if the file does not exist or has another
// name: `why` has the reason. Errors: kIo where others can change the file: another runtime would answer a different question.
Result<std::string> recorded_library(const RuntimeOfDump& runtime, std::string& why);

bool is_of_onnxruntime(const RuntimeOfDump& runtime);

class OnnxReplayRuntime : public ReplayRuntime {
 public:
  // Errors: no usable runtime.
  static Result<std::unique_ptr<OnnxReplayRuntime>> open(const ReplayRuntimeOptions& options);
  Status run(std::string_view model, std::span<const NamedView> inputs, const TakeOutput& take) override;
  // "onnxruntime 1.31.1"
  [[nodiscard]] const std::string& source() const { return source_; }
  // A sentence where the user named the runtime and other users can change it; "" otherwise.
  [[nodiscard]] const std::string& warning() const { return warning_; }

 private:
  OnnxReplayRuntime() = default;
  std::string request_;
  std::string source_;
  std::string warning_;
};

// The runtime of the options; where they name none, the one that made a dump; where that does not exist any more, any other that is found,
// which stderr names. Errors: kIo when there is no usable one, or when others can change the one that made the dump.
Result<std::unique_ptr<OnnxReplayRuntime>> open_replay_runtime(ReplayRuntimeOptions options, const RuntimeOfDump& maker,
                                                               const Terminal& terminal);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_REPLAY_RUNTIME_H_
