// The search for a GraphMatch.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_GRAPH_MATCHER_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_GRAPH_MATCHER_H_

#include "source/onnxruntime/value_match.h"

namespace tensortap::onnxruntime {

// Fills a match that is empty, until nothing more is certain. In the order of their strength: names of values, which the runtime keeps; the
// same node on the same inputs; what a kind of fusion makes; what nodes that are still the same expect of their inputs; the names of
// inserted Casts. Every match must pass the test of nodes_between().
void match_values(GraphMatch& match);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_GRAPH_MATCHER_H_
