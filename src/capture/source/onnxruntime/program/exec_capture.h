// What `tensortap exec` asked of this process, as far as ONNX Runtime goes: the dumps of the program's models.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_EXEC_CAPTURE_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_EXEC_CAPTURE_H_

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "exec/exec_request.h"
#include "source/onnxruntime/program/model_dump.h"
#include "source/onnxruntime/run/session_facts.h"

namespace tensortap::onnxruntime {

struct DumpRequest {
  std::string model;    // the file's path, "" = it came as bytes
  std::string runtime;  // "1.31.1"
  std::string weights;  // weights_key() of the executed graph, "" = not known
  std::string weights_folder;
  std::string_view author;  // the model as the program gave it
  std::string author_folder;
  const BlockedGraph* blocks = nullptr;  // of the executed graph; null = it has none
  RuntimeFacts facts;
  bool sends_weights = true;
};

// Thread-safe. Lives until the process ends and then closes its dumps. A child of fork() gets a new one.
class ExecCapture {
 public:
  // Null when this process was not started by `tensortap exec`, or when its request cannot be read, which one message reports.
  static ExecCapture* of_process();

  // The dump of a model whose op table is `ops`: that of an equal model with equal weights, or a new one with the model's weights in it.
  // The first has the folder of the process, others are in it. Errors: those of opening and binding a session; the place is free again
  // then.
  Result<std::shared_ptr<ModelDump>> dump_of(const OpTable& ops, const DumpRequest& request);

  [[nodiscard]] const ExecRequest& request() const { return request_; }

 private:
  struct Known {
    std::string model;
    std::string runtime;
    std::string weights;
    std::shared_ptr<ModelDump> dump;
  };
  explicit ExecCapture(ExecRequest request) : request_(std::move(request)) {}
  Status choose_place();
  Result<OwnedSession> open_session(const DumpRequest& request);
  static void close_at_exit();
  static void begin_anew_after_fork();

  const ExecRequest request_;
  std::mutex mutex_;
  std::string process_folder_;  // "" = not chosen
  bool process_folder_used_ = false;
  std::vector<Known> known_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_EXEC_CAPTURE_H_
