// A session of ONNX Runtime that a program makes for itself, made with taps in it instead. Whoever makes it, C functions or Python, is
// behind SessionMaker.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_FOREIGN_SESSION_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_FOREIGN_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "source/onnxruntime/model/model_file.h"
#include "source/onnxruntime/program/model_dump.h"
#include "source/onnxruntime/taps/run_tracker.h"
#include "source/onnxruntime/taps/tap_operator.h"

namespace tensortap::onnxruntime {

// The level of the program's own options.
inline constexpr int32_t kProgramLevel = -1;

// Makes sessions as the program asked for them: with its options, its operators, its providers. Used by one thread, for one session.
class SessionMaker {
 public:
  virtual ~SessionMaker() = default;
  // Lets the runtime write the graph, as ONNX, that it makes of the model at a level; the session that it takes is thrown away. It logs as
  // the program asked at the program's level, where the lines are ours (session_lines.h), and otherwise nothing.
  virtual Status optimise(int32_t level, const PassFiles& files) = 0;
  // The session that the program gets: of these bytes, without optimisation, with the operators of taps. `folder` holds the weights that
  // are not in the bytes; "" = there are none.
  virtual Status load(std::string_view tapped, const std::string& folder) = 0;
  // A second session of the graph without taps, bit for bit like the first, for runs that are not captured.
  virtual Status load_twin(std::string_view executed, const std::string& folder) = 0;
  // A session as the program asked for it, for the lines that it logs (session_lines.h); it is thrown away.
  virtual Status make_plain() = 0;
  // channel_block.h
  virtual Result<uint32_t> channel_block() = 0;
};

// A model as the program gave it. Borrowed for a call.
struct ForeignModel {
  std::string path;                 // "" = it came as bytes
  std::string_view bytes;           // ONNX or ".ort"
  const ModelFile* file = nullptr;  // that has the bytes; null = the program's memory has them
  std::string folder;               // of weights in files; "" = none
  std::string runtime;              // "1.31.1"
  std::string_view name() const { return path.empty() ? std::string_view("a model in memory") : std::string_view(path); }
};

// Why a session has no taps.
struct Uncaptured {
  Status reason;         // kOk = the capture selects nothing of the model
  bool counted = false;  // a dump lists its ops as not captured
};

// What runs of one session report to. Shared by the session's owner and the runs that are under way. Thread-safe.
class ForeignSession {
 public:
  // Lets the maker make the session with taps. Null, and why, when that cannot be: the program is to get its plain session then.
  static std::shared_ptr<ForeignSession> make(SessionMaker& maker, const ForeignModel& model, Uncaptured& why);

  // ModelDump::set_dump(): sessions of one model share it.
  Status set_dump(std::string_view name, bool enabled) { return dump_->set_dump(name, enabled); }

  // Whether the maker made a twin, for runs whose goes_to_twin() is true.
  [[nodiscard]] bool has_twin() const { return has_twin_; }
  // Whether the kind of a run matters.
  [[nodiscard]] bool compares_kinds() const;

  // One run on this thread: a step of the dump, from its first op to destruction. A run that the runtime refuses before it runs an op is no
  // step. Neither construction nor destruction throws.
  class AnnouncedRun {
   public:
    // `kind`: tensortap_step_begin_kind().
    explicit AnnouncedRun(const std::shared_ptr<ForeignSession>& session, uint64_t kind = 0);
    ~AnnouncedRun();
    AnnouncedRun(const AnnouncedRun&) = delete;
    AnnouncedRun& operator=(const AnnouncedRun&) = delete;
    // Begins the step. True when the capture selects nothing of the run and there is a twin: then the twin runs.
    bool goes_to_twin();
    // The run has ended with the runtime's message. True: the caller must make it once more on this thread, on the session with taps, with
    // the same inputs and without lines on stderr, and then pass the outcome to ran_again(). Taps keep the inputs of the failed op.
    // `obstacle`: why the caller cannot, for people; "" = it can.
    bool failed(std::string_view message, std::string_view obstacle);
    // `message`: the runtime's, "" = that run did not fail.
    void ran_again(std::string_view message);

   private:
    struct Failure;
    void begin();
    void report_failure(std::string_view why_not);
    std::shared_ptr<ForeignSession> session_;
    Run run_;
    bool refused_ = false;
    RunTracker::Announcement announcement_;
    std::unique_ptr<Failure> failure_;  // until it is reported
  };

 private:
  static Result<std::shared_ptr<ForeignSession>> try_to_make(SessionMaker& maker, const ForeignModel& model, Uncaptured& why);
  ForeignSession(std::shared_ptr<TapGraph> graph, std::shared_ptr<ModelDump> dump) : graph_(std::move(graph)), dump_(std::move(dump)) {}
  std::shared_ptr<TapGraph> graph_;
  std::shared_ptr<ModelDump> dump_;
  bool has_twin_ = false;
  std::string state_;  // state_between_runs()
};

// Says on stderr that a model is not captured, and counts its ops as not captured in a dump. For a model whose plain session the runtime
// did make.
void account_for_uncaptured(const ForeignModel& model, const Uncaptured& why);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_FOREIGN_SESSION_H_
