#include "source/onnxruntime/taps/session_lines.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <deque>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/message.h"
#include "base/silenced.h"
#include "base/text.h"

namespace tensortap::onnxruntime {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
// By severity: verbose, info, warning, error, fatal.
constexpr std::string_view kLetters = "VIWEF";
constexpr std::array<std::string_view, 5> kColours = {"", "", "\033[0;93m", "\033[1;31m", "\033[1;37;41m"};
constexpr std::string_view kColourEnds = "\033[m";

struct ThreadLines {
  LinesUse use = LinesUse::kPassOn;
  KeptLines kept;
};

ThreadLines& lines_of_thread() {
  static thread_local ThreadLines lines;
  return lines;
}

// The same receiver for as long as the process lives: sessions point to it.
const LineReceiver& lasting(const LineReceiver& receiver) {
  static std::mutex mutex;
  static auto& receivers = *new std::deque<LineReceiver>;
  const std::lock_guard lock(mutex);
  const auto known = std::ranges::find(receivers, receiver);
  return known != receivers.end() ? *known : receivers.emplace_back(receiver);
}

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * kSecond + now.tv_nsec;
}

// Logged because a pass writes its model into a file.
bool is_of_writing(std::string_view message) { return message.starts_with("Serializing optimized model"); }

void take(const LogLine& line) {
  ThreadLines& lines = lines_of_thread();
  if (lines.use == LinesUse::kPassOn) return send(line);
  if (lines.use == LinesUse::kDrop || is_of_writing(line.message)) return;
  lines.kept.detailed = lines.kept.detailed || line.severity < abi::kLogWarning;
  lines.kept.lines.push_back(line);
}

void take_line(void* parameter, int32_t severity, const char* category, const char* id, const char* location, const char* message) {
  silenced(0, [=] {
    take({*static_cast<const LineReceiver*>(parameter), now_ns(), severity, category, id, location, message});
    return 0;
  });
}

// As the default logger prints it.
std::string printed(const LogLine& line) {
  const auto kind = static_cast<size_t>(line.severity < 0 || line.severity > abi::kLogFatal ? int32_t{abi::kLogFatal} : line.severity);
  const time_t seconds = line.time_ns / kSecond;
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> date{};
  strftime(date.data(), date.size(), "%Y-%m-%d %H:%M:%S", &parts);
  const std::string fraction = std::to_string(kSecond + line.time_ns % kSecond).substr(1);
  return concat(kColours[kind], date.data(), ".", fraction, " [", kLetters.substr(kind, 1), ":", line.category, ":", line.id, ", ",
                line.location, "] ", line.message, kColours[kind].empty() ? "" : kColourEnds, "\n");
}

// What Python leaves in the program's options (session_maker.py), where it means nothing.
constexpr std::array<std::string_view, 6> kLeftEntries = {" session.optimized_model_external_initializers_file_name: tensortap.weights ",
                                                          " session.optimized_model_external_initializers_file_name:  ",
                                                          " session.optimized_model_external_initializers_min_size_in_bytes: 16384 ",
                                                          " session.optimized_model_external_initializers_min_size_in_bytes: 1024 ",
                                                          " session.disable_quant_qdq: 0 ",
                                                          " session.model_external_initializers_file_folder_path:  "};

bool tells_options(const LogLine& line) { return line.message.starts_with("Session Options"); }

void remove_left_entries(std::string& message) {
  for (const std::string_view entry : kLeftEntries) {
    if (const size_t place = message.find(entry); place != std::string::npos) message.erase(place, entry.size());
  }
}

}  // namespace

Status take_lines(const Api& api, abi::SessionOptions* options, const LineReceiver& receiver) {
  return api.call(ort::kSetUserLoggingFunction, options, &take_line, const_cast<LineReceiver*>(&lasting(receiver)));
}

Status leave_lines(const Api& api, abi::SessionOptions* options) {
  return api.call(ort::kSetUserLoggingFunction, options, nullptr, nullptr);
}

UsedLines::UsedLines(LinesUse use) {
  ThreadLines& lines = lines_of_thread();
  if (use == LinesUse::kKeep) lines.kept = {};
  lines.use = use;
}

UsedLines::~UsedLines() { lines_of_thread().use = LinesUse::kPassOn; }

KeptLines take_kept_lines() { return std::exchange(lines_of_thread().kept, {}); }

void send(const LogLine& line) {
  const LineReceiver& to = line.receiver;
  if (to.function == nullptr) return write_to_stderr(printed(line));
  to.function(to.parameter, line.severity, line.category.c_str(), line.id.c_str(), line.location.c_str(), line.message.c_str());
}

std::vector<LogLine> lines_of_session(const std::vector<LogLine>& pass, std::vector<LogLine> session) {
  // Both log the same lines before they have their model.
  constexpr std::string_view kBegins = "Initializing session.";
  const auto end = std::ranges::find(pass, kBegins, &LogLine::message);
  auto place = session.begin();
  for (auto line = pass.begin(); line != end; ++line) {
    const auto same = std::ranges::find(session, line->message, &LogLine::message);
    if (same != session.end()) {
      place = std::next(same);
    } else if (tells_options(*line)) {
      place = session.empty() ? session.begin() : std::next(session.begin());
    } else {
      place = std::next(session.insert(place, *line));
    }
  }
  for (LogLine& line : session) {
    if (tells_options(line)) remove_left_entries(line.message);
  }
  return session;
}

}  // namespace tensortap::onnxruntime
