#include "system/mindspore/tree/writer_companions.h"

#include "base/text.h"
#include "system/mindspore/tree/metadata_files.h"
#include "system/mindspore/tree/writer_folder.h"

namespace tensortap::mindspore {
namespace {

constexpr std::string_view kMetadata = ".dump_metadata";
constexpr std::string_view kOrder = "execution_order";
constexpr std::string_view kGraphs = "graphs";

}  // namespace

Result<std::shared_ptr<NamedFolder>> Companions::make_folder(std::string_view name) const {
  return NamedFolder::create(*options_.root, concat(options_.rank, "/", name), tree_rules(options_.access));
}

Status Companions::write_metadata() const {
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, make_folder(kMetadata));
  TENSORTAP_RETURN_IF_ERROR(folder->write_once("data_dump.json", options_.config));
  return folder->write_once("config.json", device_config_text(options_.profile));
}

Status Companions::write_order(const Ops& ops) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, make_folder(kOrder));
  TENSORTAP_RETURN_IF_ERROR(folder->replace("ms_execution_order_graph_0.csv", execution_order_text(ops.graph())));
  ordered_ops_ = ops.all().size();
  return {};
}

Status Companions::write_graphs(const Ops& ops) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, make_folder(kGraphs));
  const TreeRules& rules = options_.profile.tree();
  const std::vector<GraphOp> graph = ops.graph();
  TENSORTAP_RETURN_IF_ERROR(folder->replace("ms_output_trace_code_graph_0.ir", graph_ir(rules, graph)));
  TENSORTAP_RETURN_IF_ERROR(folder->replace("ms_output_trace_code_graph_0.pb", graph_pb(rules, graph)));
  graphs_size_ = ops.graph_size();
  return {};
}

Status Companions::begin(const Ops& ops) {
  if (begun_) return {};
  const bool in_rank_of_tree = options_.tree && options_.has_rank();
  if (options_.profile.device->metadata ? options_.has_rank() : in_rank_of_tree) TENSORTAP_RETURN_IF_ERROR(write_metadata());
  if (options_.extras.execution_order) TENSORTAP_RETURN_IF_ERROR(write_order(ops));
  begun_ = true;
  return {};
}

Status Companions::end_step(const Ops& ops, int64_t step) {
  last_step_ = step;
  if (options_.extras.graphs && graphs_size_ == 0) TENSORTAP_RETURN_IF_ERROR(write_graphs(ops));
  if (!options_.extras.execution_order || (!options_.profile.device->global_order && !options_.tree)) return {};
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, make_folder(kOrder));
  return folder->append("ms_global_execution_order_graph_0.csv", concat(step, "\n"));
}

Status Companions::finish(const Ops& ops, std::string_view manifest) {
  if (ordered_ops_ != 0 && ordered_ops_ != ops.all().size()) TENSORTAP_RETURN_IF_ERROR(write_order(ops));
  if (graphs_size_ != 0 && graphs_size_ != ops.graph_size()) TENSORTAP_RETURN_IF_ERROR(write_graphs(ops));
  if (!options_.has_rank()) return finish_tree(*options_.tree, manifest);
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, make_folder(kMetadata));
  return folder->replace("tensortap_run.json", manifest);
}

Status Companions::finish_tree(const AsynchronousTree& tree, std::string_view manifest) const {
  const auto [below, file] = tree.manifest_above_times(options_.net);
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, NamedFolder::create(*options_.root, below, {.access = options_.access}));
  TENSORTAP_RETURN_IF_ERROR(folder->replace(file, manifest));
  return options_.request.write(tree, *options_.root, last_step_, tree_rules(options_.access));
}

Status Companions::write_attributes(NamedFolder& folder, const Op& op) const {
  const std::string name = attributes_file_name(op.scoped_name);
  if (name.size() > kLongestFileName)
    return unsupported(concat("the attributes of ", quote(op.scoped_name), " have no file: its name is too long"));
  return folder.write_once(name, attributes_text(op.info.attributes));
}

}  // namespace tensortap::mindspore
