// /api/dump: what the start page says of the dumps.

#ifndef TENSORTAP_SERVE_DUMP_ANSWERS_H_
#define TENSORTAP_SERVE_DUMP_ANSWERS_H_

#include "base/json_fwd.h"
#include "serve/served_dump.h"

namespace tensortap {

// One of "dumps" of /api/dump (docs/web_api.md); without what `find` says unless `is_complete`.
Json dump_info_json(const ServedDump& dump, bool is_complete);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_DUMP_ANSWERS_H_
