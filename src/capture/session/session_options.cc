#include "session/session_options.h"

#include <algorithm>

#include "base/clock.h"

namespace tensortap {

DumpInfo dump_info(const std::string& folder, const SessionOptions& options) {
  DumpInfo info;
  info.folder = folder;
  info.program = options.program;
  info.source = options.source;
  info.rank = options.rank;
  info.world_size = std::max(options.world_size, 1);
  info.model = options.model;
  info.model_id = options.model_id;
  info.device = options.device;
  info.threads = options.threads;
  info.kernels = options.kernels;
  info.timestamp = options.timestamp;
  if (info.timestamp.empty()) {
    // A crash report that is written later goes where everything else is.
    info.timestamp = wall_clock_name();
    std::erase(info.timestamp, '-');
  }
  return info;
}

PlanEnvironment plan_environment(const SessionOptions& options) {
  PlanEnvironment environment{
      .layouts = {}, .before_moment = options.before_moment, .models = {}, .kernels = options.kernels, .modules = options.modules};
  for (const std::string& name : {options.model, options.graph}) {
    if (!name.empty()) environment.models.push_back(name);
  }
  return environment;
}

}  // namespace tensortap
