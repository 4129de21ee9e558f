// `tensortap run --save-outputs`: every output of every step as a NumPy file.

#ifndef TENSORTAP_CLI_FILES_RUN_OUTPUTS_H_
#define TENSORTAP_CLI_FILES_RUN_OUTPUTS_H_

#include <set>
#include <string>

#include "base/status.h"
#include "tensortap/capture.h"

namespace tensortap::cli {

// Writes NAME.npy for step 0 and NAME@STEP.npy for later ones. The first failure is kept and ends the writing. One thread.
class OutputFiles {
 public:
  // Makes the folder, so that one that cannot be written to is noticed before the model runs.
  static Result<OutputFiles> open(const std::string& folder);

  void save(int64_t step, const tensortap_tensor& output);
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  explicit OutputFiles(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
  std::set<std::string> written_;
  Status status_;
};

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_FILES_RUN_OUTPUTS_H_
