// WebAnswers: every answer of `tensortap serve`, as a function of the path and the parameters (docs/web_api.md). Without HTTP: the server,
// the report and the tests ask it.

#ifndef TENSORTAP_SERVE_WEB_ANSWERS_H_
#define TENSORTAP_SERVE_WEB_ANSWERS_H_

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "compare/dump_comparison.h"
#include "serve/answer.h"
#include "serve/served_comparison.h"
#include "serve/served_dump.h"
#include "serve/web_request.h"

namespace tensortap {

// Thread-safe.
class WebAnswers {
 public:
  using Dump = std::shared_ptr<const ServedDump>;

  // `b` "" = one dump. Otherwise `a` is judged and `b` is the reference, as in `tensortap compare A B`, in the background, with the noise
  // that lies in their folders. Errors are those of open_dump().
  static Result<std::unique_ptr<WebAnswers>> open(const std::string& a, const std::string& b, const SourceFiles& sources = {});
  // Answers about a dump that a program is still writing, as it is now.
  static Result<std::unique_ptr<WebAnswers>> open_growing(const std::string& path, const SourceFiles& sources = {});
  // Answers about dumps that are open; `b` may be null.
  static std::unique_ptr<WebAnswers> of(Dump a, Dump b, ComparisonOptions options = {});
  // Answers about two dumps that were compared: `pairs` has run. The data that its comparison borrows must outlive this.
  static std::unique_ptr<WebAnswers> of(Dump a, Dump b, std::unique_ptr<ComparedPairs> pairs);
  ~WebAnswers();
  WebAnswers(const WebAnswers&) = delete;
  WebAnswers& operator=(const WebAnswers&) = delete;

  // The answer to a GET of "/api/records?where=nan%20%3E%200". An error is also an answer.
  [[nodiscard]] Answer get(std::string_view target) const;

  // What the start page says before anything else, as sentences_json() (serve/sentences.h). Before the first question.
  void begin_with(Json sentences) { beginning_ = std::move(sentences); }

  // One, or two.
  [[nodiscard]] std::vector<Dump> dumps() const;

 private:
  WebAnswers(Dump a, Dump b, std::unique_ptr<ServedComparison> comparison);
  // Begins what takes longest, in the background: what the start page says of the records.
  void look_through() const;
  // What the start page shows; unless it `waits`, of what is known by now.
  [[nodiscard]] Answer describe(bool waits) const;
  [[nodiscard]] Result<Answer> answer(const WebRequest& request) const;
  // The dump that the parameter `dump` chooses. Errors: kInvalidArgument; kNotFound for b where there is none.
  [[nodiscard]] Result<Dump> chosen(const WebRequest& request) const;

  Dump a_;
  Dump b_;
  std::vector<std::unique_ptr<DumpIndex>> noise_;  // which the comparison borrows
  std::unique_ptr<ServedComparison> comparison_;   // null where one dump is open
  Json beginning_ = Json::array();
  mutable std::once_flag begun_;
  mutable std::future<void> looking_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_WEB_ANSWERS_H_
