// The records and ops of a job as a folder of tables for analysis engines: docs/many_ranks.md.

#ifndef TENSORTAP_TABLE_EXPORT_JOB_H_
#define TENSORTAP_TABLE_EXPORT_JOB_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "query/row_query.h"
#include "table/table_file.h"
#include "trace/completeness.h"

namespace tensortap {

struct ExportRequest {
  std::vector<std::string> sources;  // dumps, and folders of jobs
  std::string target;                // a folder that does not exist, or an empty one
  TableForm form = TableForm::kParquet;
  uint32_t group_rows = 131072;  // rows of a group
  RowQuery query = {};           // the records to write; the tables of ops are whole
};

struct ExportFailure {
  std::string dump;
  std::string reason;
};

struct ExportReport {
  uint64_t dumps = 0;
  std::vector<int64_t> ranks;
  std::vector<int64_t> missing_ranks;  // below the largest
  uint64_t records = 0;
  uint64_t job_ops = 0;
  uint64_t files = 0;
  uint64_t bytes = 0;
  std::vector<std::string> problems;      // what dumps lack, one sentence each
  std::vector<ExportFailure> failed;      // dumps that cannot be read
  std::vector<NamedCompleteness> states;  // of those that were read
  bool chooses = false;                   // a record of some dump, whether `where` holds for it or not
  std::vector<std::string> unmatched;     // why not, of the first dump: unmatched_names()
};

// Called with the number of records that were written, and with how many there are; 0 = not known.
using ExportProgress = std::function<void(uint64_t records, uint64_t total)>;

// Writes the tables. The target appears when it is complete. Errors, with nothing left: kInvalidArgument when the target already exists,
// and for a wrong query; kNotFound when there is no dump; kCorrupt when no dump can be read; those of the files.
Result<ExportReport> export_job(const ExportRequest& request, const ExportProgress& progress);

}  // namespace tensortap

#endif  // TENSORTAP_TABLE_EXPORT_JOB_H_
