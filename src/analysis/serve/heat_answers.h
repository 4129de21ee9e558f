// /api/heat: a number for each op, for the colours of the graph.

#ifndef TENSORTAP_SERVE_HEAT_ANSWERS_H_
#define TENSORTAP_SERVE_HEAT_ANSWERS_H_

#include "base/status.h"
#include "serve/answer.h"
#include "serve/asked_dump.h"

namespace tensortap {

Result<Answer> heat_answer(const AskedDump& asked);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_HEAT_ANSWERS_H_
