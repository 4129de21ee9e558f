// The lines that ONNX Runtime logs while `tensortap exec` makes a program's session. The runtime makes several sessions then, and the
// program is to see the lines of one: of the first pass, which does what its own session would do. Those of the others are dropped, and
// those that come later, from runs, go where the program has its lines go.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_SESSION_LINES_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_SESSION_LINES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "source/onnxruntime/runtime/ort_interface.h"

namespace tensortap::onnxruntime {

// A logging function of the program; without a function the runtime's default logger, which prints on stderr.
struct LineReceiver {
  abi::LoggingFunction* function = nullptr;
  void* parameter = nullptr;
  friend bool operator==(const LineReceiver&, const LineReceiver&) = default;
};

// Has sessions with these options give us their lines, for a receiver.
Status take_lines(const Api& api, abi::SessionOptions* options, const LineReceiver& receiver);
// Has the runtime print them itself again, by its default logger.
Status leave_lines(const Api& api, abi::SessionOptions* options);

enum class LinesUse : uint8_t { kPassOn, kKeep, kDrop };

// Decides, while it lives, where the lines of this thread's sessions of ours go; kPassOn again afterwards. kKeep first forgets lines that
// were kept before. One at a time.
class UsedLines {
 public:
  explicit UsedLines(LinesUse use);
  ~UsedLines();
  UsedLines(const UsedLines&) = delete;
  UsedLines& operator=(const UsedLines&) = delete;
};

struct LogLine {
  LineReceiver receiver;
  int64_t time_ns;  // since 1970
  int32_t severity;
  std::string category;
  std::string id;
  std::string location;
  std::string message;
};

struct KeptLines {
  std::vector<LogLine> lines;
  bool detailed = false;  // there are lines below warnings, which show the differences between a pass and the session
};
// Returns the lines that this thread kept, and forgets them.
KeptLines take_kept_lines();

void send(const LogLine& line);

// The lines of the session that the program asked for, with those lines of the pass before it that the runtime logs once in a process. The
// line of the session options has none of the entries that we left there.
std::vector<LogLine> lines_of_session(const std::vector<LogLine>& pass, std::vector<LogLine> session);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_SESSION_LINES_H_
