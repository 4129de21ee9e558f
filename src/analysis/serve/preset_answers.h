// /api/preset: curves over the steps that most who train look at first.

#ifndef TENSORTAP_SERVE_PRESET_ANSWERS_H_
#define TENSORTAP_SERVE_PRESET_ANSWERS_H_

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "serve/answer.h"
#include "serve/asked_dump.h"

namespace tensortap {

// The outputs that backward passes began with, a row for each pass. Empty where the source of the dump does not know.
std::vector<uint32_t> loss_rows(const ServedDump& dump);

// name=loss|gradients: {"series": [], "gaps": []} as /api/series has them. A series of gradients is the norm of the gradients of all
// parameters of one module; its "op" is the module.
Result<Answer> preset_answer(const AskedDump& asked);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_PRESET_ANSWERS_H_
