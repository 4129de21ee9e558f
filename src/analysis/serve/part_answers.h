// Which part of a dump a page shows that shows one, and what it says of the others.

#ifndef TENSORTAP_SERVE_PART_ANSWERS_H_
#define TENSORTAP_SERVE_PART_ANSWERS_H_

#include <memory>
#include <string>

#include "base/status.h"
#include "serve/source_files.h"
#include "serve/web_answers.h"

namespace tensortap {

// The answers about the dump at `path`. Of one with several processes, ranks or models those about the part that `find` speaks of first;
// they begin with what is true of all parts. Errors: those of open_dump(), where no part can be opened that of the first.
Result<std::unique_ptr<WebAnswers>> open_telling_part(const std::string& path, const SourceFiles& sources);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_PART_ANSWERS_H_
