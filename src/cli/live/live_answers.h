// LiveAnswers: the answers of a web view about dumps, the first of which may still be written by a program.

#ifndef TENSORTAP_CLI_LIVE_LIVE_ANSWERS_H_
#define TENSORTAP_CLI_LIVE_LIVE_ANSWERS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "cli/live/running_sessions.h"
#include "serve/http_server.h"
#include "serve/web_answers.h"

namespace tensortap::cli {

// Thread-safe. A dump is live if a capture runs in its folder when it is opened, and if no other dump is open. A live dump is opened again,
// at most once a second, and for a fifth of the time, when it has grown and a request comes, and a last time when the capture ends. No
// request waits for that, except one that comes when the program has ended.
class LiveAnswers {
 public:
  // Errors: as WebAnswers::open().
  static Result<std::unique_ptr<LiveAnswers>> open(const std::string& a, const std::string& b, const SourceFiles& sources = {});

  [[nodiscard]] std::shared_ptr<const WebAnswers> answers() const;
  // What the server asks; borrows this object.
  [[nodiscard]] WebService service();

 private:
  class Retired;
  LiveAnswers(std::string a, std::string b, SourceFiles sources);
  void take(std::unique_ptr<WebAnswers> opened);
  // The answers about the dump as it is now.
  std::shared_ptr<const WebAnswers> newest();
  [[nodiscard]] bool is_live() const;
  Answer set(std::string_view body);
  WebService::Events events();
  // What the page asks again and again: {"records", "state"}.
  Answer state_now();
  // What `ps --json` says of the capture, with "on" and "overhead"; nothing when none runs.
  std::optional<Json> state(const WebAnswers& answers) const;

  const std::string a_;
  const std::string b_;
  const SourceFiles sources_;
  const std::shared_ptr<Retired> retired_;  // what became of the answers before
  mutable std::mutex mutex_;                // for what is below
  std::shared_ptr<const WebAnswers> answers_;
  bool was_live_ = false;  // when it was opened
  bool is_live_ = false;
  bool is_opening_ = false;  // a request opens it again
  int64_t looked_ns_ = 0;
  int64_t pause_ns_ = 0;  // until it may be opened again
};

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LIVE_LIVE_ANSWERS_H_
