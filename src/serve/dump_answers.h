// /api/dump: what the start page says of the dumps.

#ifndef TENSORTAP_SERVE_DUMP_ANSWERS_H_
#define TENSORTAP_SERVE_DUMP_ANSWERS_H_

#include "base/json_fwd.h"
#include "serve/served_dump.h"

namespace tensortap {

// DUMPINFO of docs/web_api.md.
Json dump_info_json(const ServedDump& dump);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_DUMP_ANSWERS_H_
