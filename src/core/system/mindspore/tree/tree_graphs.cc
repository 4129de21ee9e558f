#include "system/mindspore/tree/tree_graphs.h"

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "system/mindspore/names.h"
#include "trace/scoped_name.h"
#include "tree/folder_names.h"

namespace tensortap::mindspore {
namespace {

constexpr std::string_view kGraphPrefix = "ms_output_trace_code_graph_";
constexpr std::string_view kOrderPrefix = "ms_execution_order_graph_";

// N of PREFIX N SUFFIX, "" for other names.
std::string_view graph_number(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size()) return {};
  const std::string_view number = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  return is_number(number) ? number : std::string_view();
}

// The parameters' lines at the beginning of a graph's text: "%para1_NAME: <...>  :  ...  :  IsWeight: true".
void read_weights(std::string_view text, std::vector<GraphParameter>& parameters) {
  std::unordered_map<std::string_view, GraphParameter*> known;
  for (GraphParameter& parameter : parameters) known.emplace(parameter.name, &parameter);
  const bool only_here = parameters.empty();
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("subgraph @")) return;
    const size_t type = line.find(": <");
    const size_t mark = line.find('_');
    if (!line.starts_with("%para") || type == std::string_view::npos || mark == std::string_view::npos || mark > type) continue;
    const std::string_view name = trim(line.substr(mark + 1, type - mark - 1));
    const bool is_weight = line.find("IsWeight: true") != std::string_view::npos;
    if (only_here) {
      parameters.push_back({std::string(name), is_weight});
    } else if (const auto found = known.find(name); found != known.end()) {
      found->second->is_weight = is_weight;
    }
  }
}

// The list of full names, for trees whose .pb is missing.
void read_order(std::string_view text, std::vector<GraphNode>& nodes) {
  bool header = true;
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!header && !line.empty()) nodes.push_back({std::string(line), std::string(scoped_name_type(line)), {}, {}});
    header = false;
  }
}

struct GraphFiles {
  std::string message;
  std::string text;
  std::string order;
};

std::map<std::string, GraphFiles> find_files(const std::string& rank_path) {
  std::map<std::string, GraphFiles> found;
  const auto look = [&](std::string_view folder, std::string_view prefix, std::string_view suffix, std::string GraphFiles::*member) {
    const std::string path = join_path(rank_path, folder);
    const auto names = read_folder(path);
    if (!names.ok()) return;
    for (const FolderEntry& entry : names->entries) {
      const std::string_view number = graph_number(names->name(entry), prefix, suffix);
      if (!number.empty() && entry.kind == EntryKind::kFile) found[std::string(number)].*member = join_path(path, names->name(entry));
    }
  };
  look("graphs", kGraphPrefix, ".pb", &GraphFiles::message);
  look("graphs", kGraphPrefix, ".ir", &GraphFiles::text);
  look("execution_order", kOrderPrefix, ".csv", &GraphFiles::order);
  return found;
}

// The file's text while `use` looks at it.
template <class Use>
void with_text(const std::string& path, TreeProblems& problems, Use use) {
  if (path.empty()) return;
  const auto file = MappedFile::open(path);
  if (file.ok()) {
    use(file->text());
  } else {
    problems.add(Skipped::kGraph, file.status().message());
  }
}

DumpGraph read_graph_files(const GraphFiles& files, TreeProblems& problems) {
  std::vector<GraphNode> nodes;
  std::vector<GraphParameter> parameters;
  std::string damage;
  with_text(files.message, problems, [&](std::string_view text) { read_graph_message(text, nodes, parameters, damage); });
  if (!damage.empty()) {
    problems.add(Skipped::kGraph, concat(files.message, ": damaged (", damage, "); ", nodes.size(), " nodes were read before that"));
  }
  with_text(files.text, problems, [&](std::string_view text) { read_weights(text, parameters); });
  if (nodes.empty()) with_text(files.order, problems, [&](std::string_view text) { read_order(text, nodes); });
  DumpGraph graph;
  graph.set(std::move(nodes), std::move(parameters));
  return graph;
}

}  // namespace

void DumpGraph::name(Names& names, std::string key, uint32_t number) {
  const auto [at, added] = names.try_emplace(std::move(key), Named{number, true});
  if (!added && at->second.number != number) at->second.only = false;
}

const DumpGraph::Named* DumpGraph::look_up(const Names& names, std::string_view key) {
  const auto found = names.find(std::string(key));
  return found == names.end() ? nullptr : &found->second;
}

void DumpGraph::set(std::vector<GraphNode> nodes, std::vector<GraphParameter> parameters) {
  nodes_ = std::move(nodes);
  parameters_ = std::move(parameters);
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const std::string& full_name = nodes_[i].full_name;
    if (full_name.empty()) continue;
    const std::string_view name_alone = split_op_number(full_name).name;
    const std::string cleaned = clean_name(name_alone);
    const std::string stripped = strip_scope(name_alone);
    numberless_[cleaned].push_back(i);
    if (stripped != cleaned) numberless_[stripped].push_back(i);
  }
  for (auto& [key, numbers] : numberless_) {
    std::ranges::stable_sort(numbers, {}, [&](uint32_t i) { return op_number(nodes_[i].full_name); });
  }
  for (uint32_t i = 0; i < parameters_.size(); ++i) {
    for (const std::string& form : {clean_name(parameters_[i].name), dash_scope(parameters_[i].name), parameters_[i].name}) {
      name(parameter_names_, form, i);
    }
  }
}

const std::vector<uint32_t>* DumpGraph::find_nodes(std::string_view numberless) const {
  const auto found = numberless_.find(std::string(numberless));
  return found == numberless_.end() ? nullptr : &found->second;
}

const GraphParameter* DumpGraph::find_parameter(std::string_view file_name) const {
  const Named* found = look_up(parameter_names_, file_name);
  return found != nullptr && found->only ? &parameters_[found->number] : nullptr;
}

std::map<std::string, DumpGraph, std::less<>> read_dump_graphs(const std::string& rank_path, TreeProblems& problems) {
  std::map<std::string, DumpGraph, std::less<>> graphs;
  for (const auto& [number, files] : find_files(rank_path)) graphs.emplace(number, read_graph_files(files, problems));
  return graphs;
}

}  // namespace tensortap::mindspore
