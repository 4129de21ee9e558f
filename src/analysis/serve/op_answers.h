// /api/op/N: what is known of an op beside its records.

#ifndef TENSORTAP_SERVE_OP_ANSWERS_H_
#define TENSORTAP_SERVE_OP_ANSWERS_H_

#include <string>

#include "base/status.h"
#include "serve/answer.h"
#include "serve/asked_dump.h"

namespace tensortap {

// The ops of a type.
Result<Answer> ops_answer(const AskedDump& asked);
Result<Answer> op_answer(const AskedDump& asked, const std::string& number);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_OP_ANSWERS_H_
