// Graphs of devices, such as CUDA graphs: operators record them, and replays run their kernels without an operator.

#ifndef TENSORTAP_SOURCE_PYTORCH_IDENTITY_DEVICE_GRAPHS_H_
#define TENSORTAP_SOURCE_PYTORCH_IDENTITY_DEVICE_GRAPHS_H_

#include <cstdint>
#include <vector>

namespace tensortap::pytorch {

struct ReplayedGraph {
  uint64_t operators = 0;  // that recorded it; 0 = not known: it was recorded before the capture looked at operators
  uint64_t replays = 0;
};

// The program begins and ends to record a graph. The end returns how many operators began meanwhile, in any thread. Any thread.
void recording_begins();
uint64_t recording_ends();
// An operator begins, which is inside of no other. Any thread; one look where nothing is recorded.
void note_operator_in_recording();

// A graph is replayed: `graph` is a number from 1 on that the caller gave it. Graphs above a limit count as one. Any thread.
void note_replay(uint64_t graph, uint64_t operators);
// The graphs that were replayed in this process, in the order of their numbers.
std::vector<ReplayedGraph> replayed_graphs();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_IDENTITY_DEVICE_GRAPHS_H_
