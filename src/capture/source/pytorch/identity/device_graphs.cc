#include "source/pytorch/identity/device_graphs.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

namespace tensortap::pytorch {
namespace {

constexpr uint64_t kMostReplayed = 100;

struct Replays {
  std::mutex mutex;
  std::map<uint64_t, ReplayedGraph> graphs;
};

// Never destroyed: threads run while the process ends.
Replays& replays() {
  static auto& made = *new Replays;
  return made;
}

constinit std::atomic<uint32_t> recordings{0};
constinit std::atomic<uint64_t> recorded{0};

}  // namespace

void recording_begins() {
  if (recordings.fetch_add(1) == 0) recorded = 0;
}

uint64_t recording_ends() {
  const uint64_t operators = recorded;
  uint32_t running = recordings;
  while (running > 0 && !recordings.compare_exchange_weak(running, running - 1)) {
  }
  return operators;
}

void note_operator_in_recording() {
  if (recordings.load(std::memory_order_relaxed) > 0) recorded.fetch_add(1, std::memory_order_relaxed);
}

void note_replay(uint64_t graph, uint64_t operators) {
  const std::lock_guard lock(replays().mutex);
  ReplayedGraph& replayed = replays().graphs[std::min(graph, kMostReplayed)];
  replayed.operators = operators;
  ++replayed.replays;
}

std::vector<ReplayedGraph> replayed_graphs() {
  const std::lock_guard lock(replays().mutex);
  std::vector<ReplayedGraph> graphs;
  for (const auto& [number, graph] : replays().graphs) graphs.push_back(graph);
  return graphs;
}

}  // namespace tensortap::pytorch
