// A report: the page of `tensortap serve` with its answers, as one file.

#ifndef TENSORTAP_REPORT_REPORT_PAGE_H_
#define TENSORTAP_REPORT_REPORT_PAGE_H_

#include <string>
#include <string_view>

#include "base/status.h"

namespace tensortap {

// The files of the bundle.
struct PageParts {
  std::string_view html;    // index.html, which asks for the two below
  std::string_view script;  // app.js
  std::string_view style;   // app.css
};

// `data` is EmbeddedAnswers::text(). The page loads nothing: its own policy forbids everything but the script and the style that it holds,
// which it knows by their hashes.
// Errors: kInternal when index.html does not ask for script and style as expected, or one of the two would end its element.
Result<std::string> report_page(const PageParts& parts, std::string_view data);

}  // namespace tensortap

#endif  // TENSORTAP_REPORT_REPORT_PAGE_H_
