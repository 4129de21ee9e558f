// Events that the Python side reports for the graphs that torch.compile makes, and for calls of modules that are events.

#ifndef TENSORTAP_SOURCE_PYTORCH_IDENTITY_GRAPH_EVENTS_H_
#define TENSORTAP_SOURCE_PYTORCH_IDENTITY_GRAPH_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "source/pytorch/python/python_bridge.h"

namespace tensortap::pytorch {

// A node of a graph, described when the graph is compiled; or a module whose calls are events; or a kernel that the program launches.
struct GraphNode {
  std::string op;        // "aten::add"
  std::string overload;  // "Tensor"
  ModuleId module = 0;
  ModuleId root = 0;       // the module that was compiled, or the one around the function that was compiled
  std::string source;      // "train.py:41", may be ""
  std::string scope;       // of a backward node the name of the autograd node that it belongs to: "MulBackward0"
  std::string attributes;  // JSON object with the arguments that are no tensors, may be ""
  std::vector<std::string> inputs;
  uint32_t forward = 0;    // number of the forward node that a backward node belongs to, 0 = none
  uint32_t level = 0;      // TENSORTAP_LEVEL_*
  bool is_launch = false;  // its place in the program is known when it is launched
};

// One tensor of a node among the tensors of its dump node.
struct DumpSlot {
  uint32_t tensor = 0;  // position among the tensors that the dump node is given
  uint32_t kind = 0;    // enum tensortap_slot_kind
  uint32_t slot = 0;
  int32_t element = -1;
  uint32_t flags = 0;  // kSlot*
};
constexpr uint32_t kSlotChanged = 1;    // its memory holds something else than when it was last seen
constexpr uint32_t kSlotOnlyNoted = 2;  // nothing else is reported of it
constexpr uint32_t kSlotIfWritten = 4;  // not reported while nothing was written to its memory

// The report of a dump node.
struct DumpRole {
  uint32_t node = 0;   // its number
  uint32_t phase = 0;  // enum tensortap_phase
  uint32_t flags = 0;  // kDump*
};
constexpr uint32_t kDumpFirst = 1;      // the node's reads, before it runs: a second dump follows
constexpr uint32_t kDumpSecond = 2;     // its results, after a first dump
constexpr uint32_t kDumpFailed = 4;     // its reads, after it raised
constexpr uint32_t kDumpNotesOnly = 8;  // the node is not wanted: only its changes are noted

constexpr uint32_t kNodeWanted = 1;
constexpr uint32_t kNodeAllocates = 2;  // its outputs are memory as the allocator gave it: to be dumped even when they are not wanted

// Called on any thread that holds the GIL, which each function may give up for its duration.
struct GraphEvents {
  // Whether graphs with dump nodes can be captured now. If so, the operator tensortap::dump exists.
  bool (*takes_nodes)() = nullptr;
  // The number of a new node, from 1; 0 = it cannot be captured.
  uint32_t (*add_node)(GraphNode node) = nullptr;
  // kNode*: whether anything of the node may ever be captured when the graph runs for `root`: instances of a class share a graph.
  uint32_t (*wants_node)(uint32_t node, ModuleId root) = nullptr;
  // The number to give to tensortap::dump, -1 = it cannot be captured.
  int64_t (*add_site)(const DumpRole& role, std::vector<DumpSlot> slots) = nullptr;
  // A graph with dump nodes, compiled for `root`, begins to run on this thread. Returns the module that it runs for, -1 when nothing is
  // captured now: then end is not called.
  int64_t (*graph_begins)(ModuleId root, bool backward) = nullptr;
  void (*graph_ends)() = nullptr;
  // A graph wrote into unknown memory.
  void (*wrote_unseen)() = nullptr;
  // Between these two, torch.compile works on this thread: operators that it runs are not the program's, and names of autograd nodes are
  // collected.
  void (*compile_begins)() = nullptr;
  void (*compile_ends)() = nullptr;
  // "SEQUENCE_NUMBER NAME" of each, a line each.
  std::string (*autograd_names)() = nullptr;

  // The level at which the call of a module that begins or ends now is captured, -1 = it is not. `is_root`: no other module runs.
  int (*level_of_call)(bool is_root) = nullptr;
  // The node for calls of a module of this class; it takes sites like any node. 0 = it cannot be captured.
  uint32_t (*add_module)(ModuleId module, const std::string& type, uint32_t level) = nullptr;

  // Whether each call is a separate op, and steps are rounds of a model's phase. If so, the end of a module's call is an event whatever
  // levels were requested, and the following functions are called.
  bool (*tells_calls_apart)() = nullptr;
  // Whether the event at the end of a call also contains the tensors that the call read.
  bool (*tells_reads_after)() = nullptr;
  // A model is called in this phase, enum tensortap_model_phase.
  void (*round_begins)(ModuleId model, uint32_t phase) = nullptr;
  // A module is called; node 0 = it is no operation, and its calls are root operations. `unseen`: its reads and results will not be
  // reported. Returns the argument for operation_ends(), which is called when the call returns or raises.
  uint64_t (*operation_begins)(uint32_t node, bool unseen) = nullptr;
  void (*operation_ends)(uint64_t before) = nullptr;

  // The node for launches of a kernel that is no operator, such as Triton's; 0 = it cannot be captured.
  uint32_t (*add_kernel)(GraphNode node) = nullptr;
  // The kernel is launched on this thread: its dump nodes report it until launch_ends(). Returns the phase for its sites, -1 = it is not
  // captured. `inputs`: the names of its arguments, of parameters where they are some.
  int (*launch_begins)(uint32_t node, bool records_gradients, std::vector<std::string> inputs) = nullptr;
  void (*launch_ends)() = nullptr;
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_IDENTITY_GRAPH_EVENTS_H_
