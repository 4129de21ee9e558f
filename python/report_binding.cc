// tensortap._core.report: the report of one dump or two, as a file.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "bindings.h"
#include "report/write_report.h"
#include "serve/part_answers.h"
#include "serve/source_files.h"
#include "serve/web_answers.h"

namespace nb = nanobind;

namespace tensortap::python {
namespace {

// Paths may be any bytes; `reference` b"" = none. What `tensortap report --json` prints.
std::string report(const nb::bytes& dump, const nb::bytes& reference, const nb::bytes& out, const std::vector<nb::bytes>& source_roots,
                   const nb::dict& words) {
  const std::string a(dump.c_str(), dump.size());
  const std::string b(reference.c_str(), reference.size());
  const std::string path(out.c_str(), out.size());
  std::vector<std::string> roots;
  for (const nb::bytes& root : source_roots) roots.emplace_back(root.c_str(), root.size());
  const RowQuery query = query_of(words);
  const nb::gil_scoped_release release;
  if (const Status status = check_report_path(path); !status.ok()) throw StatusError{status};
  const auto sources = value_or_throw(SourceFiles::with(roots));
  const auto answers = value_or_throw(b.empty() ? open_telling_part(a, sources) : WebAnswers::open(a, b, sources));
  return to_json_text(value_or_throw(write_report(*answers, path, nullptr, query)));
}

}  // namespace

void bind_report(nb::module_& module) { module.def("report", report); }

}  // namespace tensortap::python
