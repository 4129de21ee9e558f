// Which answers of the server a report holds.

#ifndef TENSORTAP_REPORT_REPORT_ANSWERS_H_
#define TENSORTAP_REPORT_REPORT_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "report/embedded_answers.h"
#include "serve/answer.h"

namespace tensortap {

inline constexpr size_t kMostReportRows = 5000;  // of a table

// The server's answer to a GET; WebAnswers::get().
using AskServer = std::function<Answer(std::string_view target)>;
// Told now and then, from one thread.
using ReportProgress = std::function<void(std::string_view stage, uint64_t done, uint64_t total)>;

// The part of the dumps that a report has besides its sentences and their links. `ops`: of each dump, by op; empty = all.
struct ReportChoice {
  std::string note;  // for the reader of the report: how much is chosen; "" = everything
  std::vector<std::vector<bool>> ops = {};
};

// Adds the answers that a reader of the report may ask for, the most important first: the start page, graphs and their colours, tables, the
// targets of links in sentences, tensors with NaN or Inf or the largest values and differences with pictures and histograms, curves; then
// every op and record that fits. `made` is a sentence on who made the report. Waits until the comparison of two dumps is ready. Errors:
// that of the server's answer about the dump, or that of the comparison.
struct AddedAnswers {
  std::vector<std::string> left_out;  // what did not fit, one sentence each
  std::vector<std::string> sources;   // the files of this machine that lines were read from, sorted
};
Result<AddedAnswers> add_report_answers(const AskServer& ask, const std::string& made, const ReportProgress& progress,
                                        EmbeddedAnswers& answers, const ReportChoice& choice = {});

}  // namespace tensortap

#endif  // TENSORTAP_REPORT_REPORT_ANSWERS_H_
