// The options of a session, and the facts for the layout and the plan that follow from them.

#ifndef TENSORTAP_SESSION_SESSION_OPTIONS_H_
#define TENSORTAP_SESSION_SESSION_OPTIONS_H_

#include <cstdint>
#include <string>

#include "layout/layout.h"
#include "plan/capture_plan.h"

namespace tensortap {

struct SessionOptions {
  CaptureSpec spec;
  const Layout* layout = nullptr;  // borrowed for the session's life
  std::string program;
  std::string source;
  int32_t rank = 0;
  int32_t world_size = 1;
  std::string model;
  uint32_t model_id = 0;
  int32_t device = 0;
  uint32_t threads = 0;       // of the runtime for one op, 0 = not known
  std::string timestamp;      // "" = now
  std::string graph;          // of the model
  bool kernels = false;       // whether the source also registers what an op calls underneath
  bool before_moment = true;  // whether the source also reports events before an op
  bool modules = false;       // whether calls of modules and models are reported
  bool asks = false;          // the engine asks would_keep() and reports only what is kept
  bool content_known = true;  // whether equal storage and version mean equal bytes
};

// Whether the dump can store the arguments of calls that are no tensors, and keeps the tensors that they belong to.
inline bool keeps_arguments(const SessionOptions& options) {
  return options.layout != nullptr && options.layout->keeps_arguments && keeps_tensors(options.spec);
}

// Describes a session in this folder for the layout.
DumpInfo dump_info(const std::string& folder, const SessionOptions& options);
PlanEnvironment plan_environment(const SessionOptions& options);

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_SESSION_OPTIONS_H_
