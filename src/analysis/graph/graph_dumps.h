// Dumps in memory for the tests of this folder.

#ifndef TENSORTAP_GRAPH_GRAPH_DUMPS_H_
#define TENSORTAP_GRAPH_GRAPH_DUMPS_H_

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trace/vector_dump_index.h"

namespace tensortap {

struct GraphDump : VectorDumpIndex {
  // An op that reads the first outputs of others.
  OpId op(std::string name, const std::vector<OpId>& makers = {}, std::string type = "Add") {
    OpInfo info;
    info.name = std::move(name);
    info.type = std::move(type);
    for (const OpId maker : makers) info.inputs.push_back({concat("value", maker), maker, 0});
    return add_op(std::move(info));
  }
  // The same of a module, as PyTorch's are.
  OpId module_op(const std::string& module, const std::string& name, const std::vector<OpId>& makers = {}) {
    const OpId id = op(concat(module, "/", name), makers, name);
    all_ops[id].module = module;
    return id;
  }
  // The op of a nested graph.
  OpId nested_op(const std::string& graph, const std::string& name, OpId parent, const std::vector<OpId>& makers = {}) {
    const OpId id = op(concat(graph, "/", name), makers);
    all_ops[id].graph = graph;
    all_ops[id].parent = parent;
    return id;
  }
  void reads(OpId reader, OpId maker) { all_ops[reader].inputs.push_back({concat("value", maker), maker, 0}); }

  // A record of which memory a tensor was in.
  RecordRow& row(OpId op_id, SlotKind kind, uint64_t storage, uint64_t version) {
    RecordRow row;
    row.op = op_id;
    row.slot_kind = static_cast<uint8_t>(kind);
    row.storage = storage;
    row.version = version;
    row.view = 1;
    row.set_desc({DType::kFloat32, {2}});
    return all_rows[add(row)];
  }
};

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_GRAPH_DUMPS_H_
