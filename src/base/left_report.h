// The report of a capture that could not finish its dump (a full disk, a folder that is gone), on its way to the `tensortap exec` that the
// process runs under.

#ifndef TENSORTAP_BASE_LEFT_REPORT_H_
#define TENSORTAP_BASE_LEFT_REPORT_H_

#include <map>
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

// Reads the reports that were left in the folder of a request, by dump. Skips those that cannot be read.
std::map<std::string, LeftReport> left_reports(const std::string& folder);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_LEFT_REPORT_H_
