// The requests that a serving engine called its model for: requests.jsonl of a dump (docs/layouts/tap.md).

#ifndef TENSORTAP_QUERY_STEP_REQUESTS_H_
#define TENSORTAP_QUERY_STEP_REQUESTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "trace/dump_index.h"
#include "trace/op_info.h"

namespace tensortap {

// What a request has of a batch: the rows of its tokens. The numbers are those of a file, and may be anything.
struct RequestRows {
  std::string id;
  uint64_t first_row = 0;
  uint64_t rows = 0;
  uint64_t position = 0;  // of its first row: how many of its tokens were computed before
  uint64_t prompt = 0;    // tokens of its prompt
  uint64_t drafts = 0;    // of these rows, tokens that the engine guessed
};

// A call of the model.
struct StepRequests {
  int64_t step = 0;
  ModelPhase phase = ModelPhase::kNone;
  uint64_t rows = 0;  // of the whole batch; those behind the last request's belong to none
  std::vector<RequestRows> requests;
};
Json requests_json(const StepRequests& step);

struct RequestsFile {
  std::vector<StepRequests> steps;  // in the order of the calls; a step may have several
  uint64_t unreadable = 0;          // lines
};
// Reads any text.
RequestsFile parse_requests(std::string_view text);
// Reads the dump's own; a dump without any has no steps. Errors: those of DumpIndex::document() but kNotFound.
Result<RequestsFile> read_requests(const DumpIndex& dump);

struct RowRange {
  uint64_t first = 0;
  uint64_t count = 0;
};
// The rows of a tensor, along its first dimension, that belong to a request: those of its tokens where the tensor has as many rows as the
// batch, and the request's own row where it has one for each request, such as logits. Errors: kNotFound when the request has no part in
// the step; kInvalidArgument for a tensor with another number of rows.
Result<RowRange> rows_of_request(const StepRequests& step, std::string_view request, std::span<const int64_t> dims);

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_STEP_REQUESTS_H_
