#include "source/onnxruntime/program/repeated_run.h"

#include <string_view>
#include <vector>

namespace tensortap::onnxruntime {
namespace {

Status quiet_options(const Api& api, Owned<abi::RunOptions>& options) {
  abi::RunOptions* raw = nullptr;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kCreateRunOptions, &raw));
  options = api.own(ort::kReleaseRunOptions, raw);
  return api.call(ort::kRunOptionsSetRunLogSeverityLevel, raw, int{abi::kLogFatal});
}

}  // namespace

void GivenRun::failed(const Api& api, abi::Session* session, const abi::Status* error, ForeignSession::AnnouncedRun& run) const {
  // Options may choose an adapter, which other options do not, and they cannot be copied.
  const std::string_view obstacle = options == nullptr ? "" : "the program gives its runs options";
  if (run.failed(api.find(ort::kGetErrorMessage)(error), obstacle)) run.ran_again(make_again(api, session).message());
}

Status GivenRun::make_again(const Api& api, abi::Session* session) const {
  Owned<abi::RunOptions> quiet;
  TENSORTAP_RETURN_IF_ERROR(quiet_options(api, quiet));
  if (binding != nullptr) return api.check(api.find(ort::kRunWithBinding)(session, quiet.get(), binding));
  std::vector<abi::Value*> outputs(output_count);
  Status status =
      api.check(api.find(ort::kRun)(session, quiet.get(), input_names, inputs, input_count, output_names, output_count, outputs.data()));
  for (abi::Value* output : outputs) api.find(ort::kReleaseValue)(output);
  return status;
}

}  // namespace tensortap::onnxruntime
