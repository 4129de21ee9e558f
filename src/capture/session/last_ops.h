// LastOps: the last ops in memory until a trigger fires, and what runs at the moment, for the file that a crash leaves.

#ifndef TENSORTAP_SESSION_LAST_OPS_H_
#define TENSORTAP_SESSION_LAST_OPS_H_

#include <tensortap/capture.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/json_fwd.h"
#include "base/status.h"
#include "session/crash_recorder.h"
#include "session/record_ring.h"
#include "session/record_sink.h"
#include "stats/digest.h"

namespace tensortap {

// Borrows the pool and the sink. Thread-safe except for record_crashes() (once, before the first event) and stop() (after the last).
class LastOps {
 public:
  // `ring_ops`: executions of ops whose records are kept, 0 = no ring.
  LastOps(uint64_t ring_ops, PoolAccount& pool, RecordSink& sink);

  [[nodiscard]] bool has_ring() const { return ring_.has_value(); }
  // Keeps a record with a copy of its elements; only where there is a ring, as the following functions.
  void add(const RecordRow& row, const TensorView& view, DigestKind digest);
  // Whether the record of this number is the caller's to write: true once for each, and always without a ring.
  bool claim(uint64_t sequence) { return !ring_.has_value() || ring_->claim(sequence); }
  // Writes what the ring holds.
  void fire();
  // Forgets the records of the execution that failed, which come another way, then fires.
  void failed(const RecordRow& row);

  // Begins to record crashes. Errors: as CrashRecorder::open(). `sources.ring` is filled in here.
  Status record_crashes(const std::string& folder, CrashSources sources);
  [[nodiscard]] bool records_crashes() const { return crash_ != nullptr; }
  // For crashes: an op begins on this thread, or ends.
  void note_running(const tensortap_op_event& event, int64_t step);
  void bind(std::span<const OpInfo> ops);
  // Removes the crash file.
  void stop() { crash_.reset(); }

  // As RecordRing::report(); null without a ring.
  [[nodiscard]] Json report() const;

 private:
  std::optional<RecordRing> ring_;
  std::unique_ptr<CrashRecorder> crash_;
  RecordSink& sink_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_LAST_OPS_H_
