// /api/flow: the way of a NaN or an Inf, from the op that made it to what the program saw; of an error, from the op that it was born in.

#ifndef TENSORTAP_SERVE_FLOW_ANSWERS_H_
#define TENSORTAP_SERVE_FLOW_ANSWERS_H_

#include "base/status.h"
#include "serve/answer.h"
#include "serve/asked_dump.h"

namespace tensortap {

Result<Answer> flow_answer(const AskedDump& asked);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_FLOW_ANSWERS_H_
