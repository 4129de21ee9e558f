// /api/overview: what is worth a look in any dump, healthy or not.

#ifndef TENSORTAP_SERVE_OVERVIEW_ANSWERS_H_
#define TENSORTAP_SERVE_OVERVIEW_ANSWERS_H_

#include "base/status.h"
#include "serve/answer.h"
#include "serve/asked_dump.h"

namespace tensortap {

// {"largest", "closest", "biggest", "slowest"}: at most five each, the most extreme first; each line of another op.
// "device" of a slow op: "cuda:0" where its time is that of its launches, or null.
Result<Answer> overview_answer(const AskedDump& asked);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_OVERVIEW_ANSWERS_H_
