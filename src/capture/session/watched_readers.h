// Who still reads a watched tensor: this distinguishes an overwrite from memory that was free to be used again.

#ifndef TENSORTAP_SESSION_WATCHED_READERS_H_
#define TENSORTAP_SESSION_WATCHED_READERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "session/op_table.h"
#include "trace/graph_outputs.h"

namespace tensortap {

// The readers of every output of a session's ops. Borrows the table, to which no op may be added meanwhile.
class WatchedReaders {
 public:
  explicit WatchedReaders(const OpTable& ops);

  // Whether something that reads an output of `watched` is still to come once `writer` has run, in the order of execution. Nothing where
  // that is not known: no reader is known, or one is under way.
  [[nodiscard]] std::optional<bool> read_after(OpId watched, uint32_t slot, OpId writer) const;

 private:
  static bool is_graph_output(const OpEntry& op, uint32_t slot);
  [[nodiscard]] OpId in_graph(OpId op, const OpEntry& watched) const;

  const OpTable& ops_;
  std::map<std::pair<OpId, uint32_t>, std::vector<OpId>> readers_;  // by producer and its slot
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_WATCHED_READERS_H_
