// /api/search: names that contain a text, and where each leads.

#ifndef TENSORTAP_SERVE_SEARCH_ANSWERS_H_
#define TENSORTAP_SERVE_SEARCH_ANSWERS_H_

#include "base/status.h"
#include "serve/answer.h"
#include "serve/asked_dump.h"

namespace tensortap {

Result<Answer> search_answer(const AskedDump& asked);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_SEARCH_ANSWERS_H_
