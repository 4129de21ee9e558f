// What `tensortap exec` asked of this process, as far as ggml goes: the dumps of the models that it computes.

#ifndef TENSORTAP_SOURCE_GGML_PROCESS_CAPTURE_H_
#define TENSORTAP_SOURCE_GGML_PROCESS_CAPTURE_H_

#include <tensortap/ggml.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "exec/exec_request.h"
#include "source/ggml/ggml_library.h"
#include "source/ggml/graph_report.h"
#include "source/ggml/model_capture.h"

namespace tensortap::ggml {

// Thread-safe. Lives until the process ends and then closes its dumps. A child of fork() gets a new one.
class ProcessCapture {
 public:
  // Null when this process was not started by `tensortap exec`, or when its request cannot be read, which one message reports.
  static ProcessCapture* of_process();
  // Counts the calls of threads that came while the source was loaded.
  static void set_missed(const uint64_t* missed);

  // Makes the call and captures it. What the real function throws passes through.
  int compute(const tensortap_ggml_call& call);

 private:
  // A thread that may use the sessions; false once they are closed.
  class InsideCapture;
  using PlanKey = std::tuple<const GgmlLibrary*, const void*, uint64_t, uint64_t>;  // a graph without weights: of its scheduler

  explicit ProcessCapture(ExecRequest request) : request_(std::move(request)) {}
  int compute_captured(GgmlLibrary& library, const tensortap_ggml_call& call);
  static int compute_by_scheduler(GgmlLibrary& library, const tensortap_ggml_call& call, GraphPlan& plan,
                                  const std::vector<GgmlTensor>& nodes, GraphReport& report);
  static int compute_by_backend(const GgmlLibrary& library, const tensortap_ggml_call& call, GraphPlan& plan,
                                const std::vector<GgmlTensor>& nodes, GraphReport& report);
  // Reports the ops of a graph as not captured, once.
  static void refuse(GraphPlan& plan, const std::vector<GgmlTensor>& nodes, const std::string& reason);
  // Null when no dump can be opened, which one message reports.
  GraphPlan* plan_of(GgmlLibrary& library, const void* computer, const std::vector<GgmlTensor>& nodes);
  ModelCapture* model_of(GgmlLibrary& library, const void* computer, const std::vector<GgmlTensor>& nodes);
  Result<tensortap_session*> open_session(const GgmlLibrary& library, const std::string& model);
  static void close_at_exit();
  static void begin_anew_after_fork();

  const ExecRequest request_;
  std::mutex mutex_;
  std::string process_folder_;                         // "" = not chosen
  std::vector<std::unique_ptr<ModelCapture>> models_;  // guarded by mutex_, so the following
  std::map<PlanKey, std::unique_ptr<GraphPlan>> plans_;
  std::set<uint64_t> trained_;                        // keys of graphs whose weights change as the program runs
  std::map<const void*, ModelCapture*> last_models_;  // by scheduler or backend, null = by plans
  bool failed_ = false;
  std::atomic<uint64_t> unplanned_{0};  // computations of further graphs than are followed
  std::atomic<uint64_t> nested_{0};     // computations within a callback of another
  std::atomic<bool> open_{true};
  std::atomic<int> inside_{0};
};

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_PROCESS_CAPTURE_H_
