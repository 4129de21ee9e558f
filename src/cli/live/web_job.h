// WebJob: the answers of a web view about a job: those of `tensortap ranks` for its ranks or of `tensortap find` for its processes, and its
// dumps, each on its own page.

#ifndef TENSORTAP_CLI_LIVE_WEB_JOB_H_
#define TENSORTAP_CLI_LIVE_WEB_JOB_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "cli/text/ranks_text.h"
#include "read/dump_parts.h"
#include "serve/http_server.h"
#include "serve/web_answers.h"
#include "table/job_dumps.h"

namespace tensortap::cli {

// Thread-safe. The dumps are looked through once, in the background; a dump is opened when its page is asked for.
class WebJob {
 public:
  // Whether dumps of several ranks, or of several processes or models that have ended, lie at this path and below it.
  static bool is_job(const std::string& path);
  // Errors: those of find_job_dumps().
  static Result<std::unique_ptr<WebJob>> open(const std::string& path, const SourceFiles& sources = {});
  // Ends the look at the dumps.
  ~WebJob();
  WebJob(const WebJob&) = delete;
  WebJob& operator=(const WebJob&) = delete;

  // The answer to a GET: of the job, or of one of its dumps, which begins with "/dump/N".
  [[nodiscard]] tensortap::Answer get(std::string_view target) const;
  // What the server asks; borrows this object.
  [[nodiscard]] WebService service() const;

 private:
  using Opened = Result<std::unique_ptr<WebAnswers>>;

  WebJob(std::string path, std::vector<JobDump> dumps, SourceFiles sources);
  [[nodiscard]] Result<Json> look() const;
  [[nodiscard]] Result<Json> look_at_parts() const;
  // Null while the ranks are being looked through.
  [[nodiscard]] const Result<Json>* report() const;
  [[nodiscard]] const Opened& dump(size_t number) const;
  [[nodiscard]] Result<tensortap::Answer> answer(const WebRequest& request) const;
  [[nodiscard]] Json ranks_json() const;
  [[nodiscard]] Json dumps_json(const Json* report) const;
  // What was found in each process, and of all together; of a job without ranks.
  void tell_parts(const Json& found, Json& json) const;
  [[nodiscard]] Json sentences_json(const Json& report) const;
  // Where in the page of a rank's dump something can be looked at; null when no dump has it.
  [[nodiscard]] Json link_to(const Json& report, const RanksSentence& sentence) const;
  [[nodiscard]] std::vector<size_t> dumps_of(const Json& report, int64_t rank) const;

  const std::string path_;
  const std::vector<JobDump> dumps_;
  const std::vector<DumpPart> parts_;  // by number of the dump
  const bool has_ranks_;
  const SourceFiles sources_;
  const std::vector<MadeOnce<Opened>> opened_;  // by number of the dump
  MadeOnce<Json> sentences_;
  mutable std::atomic<bool> stop_ = false;
  mutable std::atomic<size_t> done_ = 0;
  mutable std::atomic<size_t> all_ = 0;
  std::shared_future<Result<Json>> report_;  // the last, since it uses the others
};

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LIVE_WEB_JOB_H_
