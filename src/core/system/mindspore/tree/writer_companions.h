// Writes the files that a dump has once, or once for each iteration: metadata, execution order, graphs, attributes.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_COMPANIONS_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_COMPANIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "system/mindspore/tree/writer_ops.h"
#include "system/mindspore/tree/writer_options.h"
#include "tree/named_folder.h"

namespace tensortap::mindspore {

// Thread-compatible. Failed writes are tried again with the next call, except for attributes.
class Companions {
 public:
  // `options` outlives it.
  explicit Companions(const WriterOptions& options) : options_(options) {}

  // Before the first tensor: metadata and the order of the ops.
  Status begin(const Ops& ops);
  // The graph, when it was not written, and a line for the iteration.
  Status end_step(const Ops& ops, int64_t step);
  // `manifest` is ours, beside the metadata.
  Status finish(const Ops& ops, std::string_view manifest);
  // An op's attributes into the folder of an iteration.
  Status write_attributes(NamedFolder& folder, const Op& op) const;

 private:
  Status write_metadata() const;
  Status write_order(const Ops& ops);
  Status write_graphs(const Ops& ops);
  // The same as finish() where there is no folder of a rank.
  Status finish_tree(const AsynchronousTree& tree, std::string_view manifest) const;
  // One of the folders of a rank, by its name.
  [[nodiscard]] Result<std::shared_ptr<NamedFolder>> make_folder(std::string_view name) const;

  const WriterOptions& options_;
  bool begun_ = false;
  int64_t last_step_ = -1;  // that ended
  size_t graphs_size_ = 0;  // of what was written
  size_t ordered_ops_ = 0;
};

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_COMPANIONS_H_
