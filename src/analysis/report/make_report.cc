#include "report/make_report.h"

#include <utility>

#include "report/report_page.h"
#include "serve/page_files.h"

namespace tensortap {
namespace {

constexpr uint64_t kAroundBytes = 4096;  // what report_page() writes around its parts

}  // namespace

Result<Report> make_report(const AskServer& ask, const std::string& made, const ReportProgress& progress, const ReportChoice& choice) {
  const PageParts parts{page_file("index.html"), page_file("app.js"), page_file("app.css")};
  const uint64_t bundle = parts.html.size() + parts.script.size() + parts.style.size() + kAroundBytes;
  if (bundle >= kMostReportBytes) return internal_error("the page of the report is too large");
  EmbeddedAnswers answers(kMostReportBytes - bundle);
  Report report;
  TENSORTAP_ASSIGN_OR_RETURN(AddedAnswers added, add_report_answers(ask, made, progress, answers, choice));
  report.left_out = std::move(added.left_out);
  report.sources = std::move(added.sources);
  report.answers = answers.count();
  TENSORTAP_ASSIGN_OR_RETURN(report.page, report_page(parts, answers.text()));
  if (report.page.size() > kMostReportBytes) return internal_error("the report is too large");
  return report;
}

}  // namespace tensortap
