// /api/graph and /api/graph.bin: the drawing of the graph with some of its groups open.

#ifndef TENSORTAP_SERVE_GRAPH_ANSWERS_H_
#define TENSORTAP_SERVE_GRAPH_ANSWERS_H_

#include "base/status.h"
#include "serve/answer.h"
#include "serve/asked_dump.h"

namespace tensortap {

Result<Answer> graph_answer(const AskedDump& asked);
Result<Answer> binary_graph_answer(const AskedDump& asked);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_GRAPH_ANSWERS_H_
