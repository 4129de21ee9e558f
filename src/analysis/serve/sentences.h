// The start page in words: what `find` and `compare` say, each sentence with the place that it speaks of.

#ifndef TENSORTAP_SERVE_SENTENCES_H_
#define TENSORTAP_SERVE_SENTENCES_H_

#include "base/json_fwd.h"
#include "serve/served_dump.h"

namespace tensortap {

// [{"kind", "text", "link"}] of one dump, what matters most first. `side` is "a" or "b"; links of b choose it. Unless
// `is_complete` without those for which all records are looked through.
Json sentences_json(const ServedDump& dump, char side, bool is_complete);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_SENTENCES_H_
