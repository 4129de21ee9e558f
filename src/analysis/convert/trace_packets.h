// TracePackets: a Perfetto trace, written packet by packet.

#ifndef TENSORTAP_CONVERT_TRACE_PACKETS_H_
#define TENSORTAP_CONVERT_TRACE_PACKETS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "base/status.h"

namespace tensortap {

enum class TraceEventType : uint8_t { kBegin = 1, kEnd = 2, kInstant = 3 };

// What an event says besides its name.
struct TraceNote {
  std::string_view name;
  std::variant<int64_t, std::string, std::string_view> value;  // string_view: a text that comes again, stored once
};

struct TraceEvent {
  uint64_t track = 0;
  int64_t time_ns = 0;  // not negative
  TraceEventType type = TraceEventType::kInstant;
  std::string_view name;      // of kBegin and kInstant
  std::string_view category;  // "" = none
  std::span<const TraceNote> notes;
};

// Not thread-safe. Each function that adds something fails as `write` does. Bytes of texts that are no UTF-8 are replaced.
class TracePackets {
 public:
  using Write = std::function<Status(std::string_view)>;
  explicit TracePackets(Write write) : write_(std::move(write)) {}

  // The caller numbers tracks, their parents (0 = none), processes and threads: unique, not 0. A track must exist before its events. `unit`
  // is that of struct CounterDescriptor: 0 none, 3 bytes.
  Status add_process(uint64_t track, int32_t process, std::string_view name);
  Status add_thread(uint64_t track, int32_t process, int64_t thread, std::string_view name);
  Status add_track(uint64_t track, uint64_t parent, std::string_view name);
  Status add_counter(uint64_t track, uint64_t parent, std::string_view name, uint32_t unit);

  // kBegin and kEnd of one track come in the order of time, and nest.
  Status add(const TraceEvent& event);
  Status count(uint64_t track, int64_t time_ns, std::variant<int64_t, double> value);
  // Writes what waits.
  Status finish();

 private:
  using Names = std::unordered_map<std::string, uint64_t>;
  // The number of a text. The first time it is added to `interned`, a message InternedData, as `field`.
  static uint64_t intern(Names& names, std::string_view text, uint32_t field, std::string& interned);
  Status add_descriptor(const std::string& descriptor);
  Status add_packet(std::string& packet);

  Write write_;
  std::string waiting_;
  bool begun_ = false;
  Names names_;
  Names categories_;
  Names note_names_;
  Names note_texts_;
};

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_TRACE_PACKETS_H_
