// /api/series and /api/trends: how values change over the steps.

#ifndef TENSORTAP_SERVE_SERIES_ANSWERS_H_
#define TENSORTAP_SERVE_SERIES_ANSWERS_H_

#include "base/status.h"
#include "serve/answer.h"
#include "serve/asked_dump.h"

namespace tensortap {

Result<Answer> series_answer(const AskedDump& asked);
// What `find --trends --json` says, with the number of each trend's op.
Result<Answer> trends_answer(const AskedDump& asked);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_SERIES_ANSWERS_H_
