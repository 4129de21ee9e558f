// AskedDump: what an endpoint gets: the dump that a request chose, and the request.

#ifndef TENSORTAP_SERVE_ASKED_DUMP_H_
#define TENSORTAP_SERVE_ASKED_DUMP_H_

#include "serve/served_dump.h"
#include "serve/web_request.h"

namespace tensortap {

class ServedComparison;

// Borrowed for the call.
struct AskedDump {
  const ServedDump& dump;
  const WebRequest& request;
  bool is_b = false;                             // of two
  const ServedComparison* comparison = nullptr;  // null where one dump is open
};

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_ASKED_DUMP_H_
