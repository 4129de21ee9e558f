#include "cli/files/report_file.h"

#include <cstdint>

#include "base/json.h"
#include "base/text.h"
#include "cli/text/selection_options.h"
#include "report/write_report.h"

namespace tensortap::cli {

Result<Json> write_report_file(const WebAnswers& answers, const std::string& path, const Terminal& terminal, const RowQuery& query) {
  Progress progress(terminal);
  const auto tell = [&progress](std::string_view stage, uint64_t done, uint64_t total) { progress.update(stage, done, total); };
  if (const Status known = check_query(query); !known.ok()) return in_option_words(known);
  auto done = write_report(answers, path, tell, query);
  progress.finish();
  if (!done.ok()) return done;
  for (const Json& sentence : done->at("left_out")) terminal.note(sentence.get<std::string>());
  for (const Json& file : done->at("sources")) terminal.note(concat("lines of source were read from ", file.get<std::string>()));
  return done;
}

std::string report_line(const Json& done) {
  return concat(done.at("report").get<std::string>(), ": ", bytes_text(done.at("bytes").get<uint64_t>()));
}

}  // namespace tensortap::cli
