// Messages from a process to the `tensortap exec` that it runs under: where it writes dumps, and the report of a capture that could not
// finish its dump (a full disk, a folder that is gone).

#ifndef TENSORTAP_BASE_LEFT_REPORT_H_
#define TENSORTAP_BASE_LEFT_REPORT_H_

#include <map>
#include <set>
#include <string>

#include "base/status.h"

namespace tensortap {

struct LeftReport {
  std::string error;   // why the dump is not finished
  std::string report;  // JSON text of an object
};

// If `finished` is an error, leaves it and the report beside the request of `exec`. Does nothing without `exec`, or where that is
// impossible. Returns `finished`.
Status tell_exec(const Status& finished, const std::string& dump, const std::string& report);

// Leaves the path of a dump that was begun beside the request of `exec`, which lists dumps that programs ask for themselves. Does nothing
// without `exec`, or where that is impossible.
void tell_exec_of_dump(const std::string& dump);

// Reads the folders of dumps that were left in the folder of a request, each once.
std::set<std::string> told_dumps(const std::string& folder);

// Reads the reports that were left in the folder of a request, by dump. Skips those that cannot be read.
std::map<std::string, LeftReport> left_reports(const std::string& folder);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_LEFT_REPORT_H_
