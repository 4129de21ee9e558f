// Events that the Python side reports for compiled graphs with separate sessions.

#ifndef TENSORTAP_SOURCE_PYTORCH_IDENTITY_MODEL_EVENTS_H_
#define TENSORTAP_SOURCE_PYTORCH_IDENTITY_MODEL_EVENTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "source/pytorch/identity/graph_events.h"

namespace tensortap::pytorch {

struct ModelGraphOptions {
  std::string config;  // text of a dump config in any dialect
  std::string config_name;
  std::string model;      // the graph's name
  std::string program;    // in words, for run.json
  std::string timestamp;  // YYYYmmddHHMMSS, may be ""
  int32_t device = 0;
};

// An op of such a graph, under the names that are given.
struct ModelOp {
  std::string name;
  std::string type;
  GraphNode node;  // its operator, where it is one: module, source, attributes and names of its inputs count
  std::string original;
  std::vector<uint32_t> producers;  // for each input the number of the node that makes it, 0 = not known
  std::vector<uint32_t> producer_slots;
};

// Any thread that holds the GIL. The nodes that are added take sites as others do (GraphEvents::add_site, wants_node).
struct ModelEvents {
  // The number of a new graph, from 1; 0 on failure, with the reason in `problem`. On success the operator tensortap::dump exists.
  uint32_t (*open)(const ModelGraphOptions& options, std::string& problem) = nullptr;
  // The number of the op's node, 0 = it cannot be captured.
  uint32_t (*add_op)(uint32_t graph, ModelOp op) = nullptr;
  // All ops were added. Returns the error, "" = none.
  std::string (*bind)(uint32_t graph) = nullptr;
  // A call of the graph begins on this thread. Returns whether anything of it is wanted; if not, end is not called.
  bool (*step_begins)(uint32_t graph, int64_t step) = nullptr;
  // The call ends. Everything captured is in the files when this returns.
  void (*step_ends)(uint32_t graph, int64_t step) = nullptr;
  // The graph runs no more. The report as JSON text.
  std::string (*close)(uint32_t graph) = nullptr;
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_IDENTITY_MODEL_EVENTS_H_
