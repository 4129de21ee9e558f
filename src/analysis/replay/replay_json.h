// What a replay found, as JSON.

#ifndef TENSORTAP_REPLAY_REPLAY_JSON_H_
#define TENSORTAP_REPLAY_REPLAY_JSON_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "replay/replay.h"
#include "trace/dump_index.h"

namespace tensortap {

// One output, with all measures where values differ.
Json replayed_json(const DumpIndex& dump, const ReplayedValue& value);

// What many of them come to. Borrows the dump.
class ReplaySummary {
 public:
  explicit ReplaySummary(const DumpIndex& dump) : dump_(dump) {}
  void add(const ReplayedValue& value);
  // {"ops": executions that were replayed, "outputs", "equal", "differing", "kernels": [{"type", "outputs", "relative_l2": the largest,
  // "first"}], "not_replayed", "reasons": [{"reason", "count", "examples"}]}
  [[nodiscard]] Json to_json() const;
  [[nodiscard]] uint64_t differing() const { return differing_; }
  [[nodiscard]] uint64_t replayed() const { return equal_ + differing_; }

 private:
  struct Kernel {
    uint64_t outputs = 0;
    double largest = 0;
    std::string first;
  };
  struct Reason {
    uint64_t count = 0;
    std::vector<std::string> examples;
  };

  const DumpIndex& dump_;
  const RecordedOp* last_ = nullptr;
  uint64_t ops_ = 0;
  uint64_t equal_ = 0;
  uint64_t differing_ = 0;
  uint64_t not_replayed_ = 0;
  std::map<std::string, Kernel> kernels_;  // that differ, by type
  std::map<std::string, Reason> reasons_;
};

}  // namespace tensortap

#endif  // TENSORTAP_REPLAY_REPLAY_JSON_H_
