#include "report/write_report.h"

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "report/make_report.h"

namespace tensortap {

Status check_report_path(const std::string& path) {
  constexpr size_t kMostNameBytes = 200;  // of 255: its temporary name is longer
  if (const size_t size = file_name(path).size(); size > kMostNameBytes) {
    return invalid_argument(concat("a name of ", size, " bytes; at most ", kMostNameBytes, " are possible"));
  }
  if (is_directory(path)) return invalid_argument(concat(path, ": a folder; name a file, such as report.html"));
  const std::string folder = parent_path(path);
  return is_directory(folder) ? Status() : not_found(concat(folder, ": no such folder"));
}

Result<Json> write_report(const WebAnswers& answers, const std::string& path, const ReportProgress& progress) {
  const auto ask = [&answers](std::string_view target) { return answers.get(target); };
  TENSORTAP_ASSIGN_OR_RETURN(const Report report, make_report(ask, "Made by tensortap " TENSORTAP_VERSION ".", progress));
  TENSORTAP_RETURN_IF_ERROR(write_file_atomically(path, report.page, Access::kShared));
  return Json{{"report", path},
              {"bytes", report.page.size()},
              {"answers", report.answers},
              {"left_out", report.left_out},
              {"sources", report.sources}};
}

}  // namespace tensortap
