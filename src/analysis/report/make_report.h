// A report: what `tensortap serve` shows of a dump, or of two, as one file.

#ifndef TENSORTAP_REPORT_MAKE_REPORT_H_
#define TENSORTAP_REPORT_MAKE_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "report/report_answers.h"

namespace tensortap {

inline constexpr uint64_t kMostReportBytes = 20'000'000;

struct Report {
  std::string page;                   // HTML, of at most kMostReportBytes
  size_t answers = 0;                 // of the server, that are in it
  std::vector<std::string> left_out;  // one sentence each
  std::vector<std::string> sources;   // the files of this machine that lines were read from
};

// `made` is a sentence on who made the report. Errors: those of add_report_answers(), and kExhausted when not even the start page fits.
Result<Report> make_report(const AskServer& ask, const std::string& made, const ReportProgress& progress, const ReportChoice& choice = {});

}  // namespace tensortap

#endif  // TENSORTAP_REPORT_MAKE_REPORT_H_
