// What could not be kept, and why: counts by reason with the first examples. Nothing is ever left out in silence.

#ifndef TENSORTAP_SESSION_LOSSES_H_
#define TENSORTAP_SESSION_LOSSES_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"

namespace tensortap {

// The reasons that the session itself gives. run.json lists them ("losses"): words for people, stable for programs. A failed write adds the
// system's error to its reason: "write failed: Input/output error".
namespace loss {
inline constexpr std::string_view kPoolStatsOnly = "memory budget full: statistics only";
inline constexpr std::string_view kPoolDropped = "memory budget full: dropped";
inline constexpr std::string_view kNoMemory = "no memory for a copy";
inline constexpr std::string_view kKeepFree = "disk: no more than keep_free left";
inline constexpr std::string_view kMaxBytes = "limit: max_bytes";
inline constexpr std::string_view kMaxRecords = "limit: max_records";
inline constexpr std::string_view kWriteFailed = "write failed";
inline constexpr std::string_view kCollision = "layout has no place of its own for it";
inline constexpr std::string_view kLostWithOther = "data was lost with the record that it repeats";
inline constexpr std::string_view kWatchedGone = "watched memory cannot be read any more";
inline constexpr std::string_view kReadGone = "what the op read is gone since it ran";
inline constexpr std::string_view kUnknownOp = "event of an unknown op";
inline constexpr std::string_view kMalformed = "malformed event";
inline constexpr std::string_view kRank = "more than 32 dimensions";
inline constexpr std::string_view kWideShape = "more than 16 dimensions, one of them of 2^32 or more";
inline constexpr std::string_view kUnknownType = "unknown element type";
inline constexpr std::string_view kFolderGone = "output folder was removed or renamed while running";
inline constexpr std::string_view kFileRemoved = "a file of the dump was removed while running";
inline constexpr std::string_view kFileReplaced = "a file of the dump was replaced while running";
inline constexpr std::string_view kFileCut = "a file of the dump was cut while running";
}  // namespace loss

// Whether a loss was asked for.
enum class LossKind : uint8_t {
  kLimit,        // a limit of the config cut it off
  kUnsupported,  // it cannot be kept at all
  kFailure,      // it should be there: the system said no
};
LossKind loss_kind(std::string_view reason);
std::string_view loss_kind_name(LossKind kind);  // "limit", "unsupported", "failure"

// Thread-safe.
class Losses {
 public:
  // Counts a loss, of one record or of several. `example` is called for the first few of each reason only and gives a text, such as the
  // record's name.
  template <class Example>
  void add(std::string_view reason, Example&& example, uint64_t records = 1) {
    const std::lock_guard lock(mutex_);
    Entry& entry = entry_of(reason);
    entry.count += records;
    if (entry.examples.size() < kExamples) entry.examples.push_back(example());
  }

  [[nodiscard]] uint64_t total() const;
  [[nodiscard]] uint64_t count(std::string_view reason) const;
  // [{"reason": ..., "kind": ..., "count": ..., "examples": [...]}], most frequent first.
  [[nodiscard]] Json to_json() const;

 private:
  static constexpr size_t kExamples = 5;
  struct Entry {
    uint64_t count = 0;
    std::vector<std::string> examples;
  };
  Entry& entry_of(std::string_view reason);

  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_LOSSES_H_
