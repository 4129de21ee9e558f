#include "source/onnxruntime/run/noise_runs.h"

#include <string>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "source/onnxruntime/run/capture_run.h"
#include "source/onnxruntime/run/number_range.h"
#include "source/onnxruntime/run/session_calls.h"

namespace tensortap::onnxruntime {
namespace {

Status run_one(const RunRequest& request, const std::string& folder, int64_t number, const tensortap_onnxruntime_run_options& options) {
  RunRequest moved = request;
  TENSORTAP_ASSIGN_OR_RETURN(moved.config, config_with_out(request.config, folder));
  moved.noise_seed = number_at(request.seed, static_cast<uint64_t>(number));
  moved.verify = false;
  moved.overhead = false;
  tensortap_onnxruntime_run_options silent = options;
  silent.on_output = nullptr;
  return CaptureRun(std::move(moved), silent).run();
}

}  // namespace

Status check_noise(const RunRequest& request) {
  if (request.noise == 0) return {};
  if (!request.capture) return invalid_argument("noise: nothing is captured, so there is nothing to measure it by");
  const Result<std::string> config = config_with_out(request.config, "noise");
  if (!config.ok()) return config.status().with_context("noise");
  TENSORTAP_ASSIGN_OR_RETURN(const Json json, parse_json(*config, "config"));
  // The dumps of the further runs lie in the folder of the first.
  if (json.value("layout", Json()) == "ge") {
    return invalid_argument(
        "noise: a tree of the layout ge is all that lies below its folder, so that runs of noise would be read as steps of it");
  }
  return {};
}

Status run_noise(const RunRequest& request, const tensortap_onnxruntime_run_options& options, Json& report) {
  if (request.noise == 0) return {};
  report["noise"] = Json::array();
  const auto dump = report.find("dump");
  if (dump == report.end() || !dump->is_string()) return {};
  for (int64_t number = 1; number <= request.noise; ++number) {
    const std::string folder = join_path(dump->get<std::string>(), concat("noise", number));
    if (Status status = run_one(request, folder, number, options); !status.ok()) {
      status = status.with_context(concat("run ", number, " of noise"));
      report["error"] = status.message();
      return status;
    }
    report["noise"].push_back(folder);
  }
  return {};
}

}  // namespace tensortap::onnxruntime
