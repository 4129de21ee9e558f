#include "source/onnxruntime/taps/external_files.h"

#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "format/onnx_graph/onnx_fields.h"

namespace tensortap::onnxruntime {
namespace {

constexpr int kFolderKeyRelease = 21;

void collect(const Graph& graph, std::set<std::string>& files) {
  for (const Initializer& initializer : graph.initializers) {
    if (!is_outside(initializer)) continue;
    std::string storage;
    const auto tensor = read_tensor_proto(initializer.bytes, storage);
    if (tensor.ok() && !tensor->external.file.empty()) files.emplace(tensor->external.file);
  }
  for (const Node& node : graph.nodes) {
    for (const Subgraph& body : node.subgraphs) collect(*body.graph, files);
  }
}

Status link_file(const std::string& folder, const std::string& name, const std::string& target_folder) {
  if (name.empty() || name[0] == '/' || name.find("..") != std::string::npos) {
    return invalid_argument(concat("weights in ", quote(name), " lie outside of the model's folder"));
  }
  const std::string from = join_path(folder, name);
  const std::string to = join_path(target_folder, name);
  if (name.find('/') != std::string::npos) TENSORTAP_RETURN_IF_ERROR(make_directories(parent_path(to)));
  if (link(from.c_str(), to.c_str()) == 0 || symlink(from.c_str(), to.c_str()) == 0) return {};
  return errno_status(to, errno);
}

}  // namespace

std::set<std::string> external_files(const Graph& graph) {
  std::set<std::string> files;
  collect(graph, files);
  return files;
}

Result<std::unique_ptr<InferenceSession>> open_with_external_files(const PreparedModel& model, std::string_view bytes,
                                                                   const SessionSettings& settings, ScratchFolder& scratch) {
  if (model.library()->api().release() >= kFolderKeyRelease) return InferenceSession::open(model.library(), {}, bytes, settings);
  const auto files = external_files(model.executed().graph);
  if (files.empty()) return InferenceSession::open(model.library(), {}, bytes, settings);
  TENSORTAP_ASSIGN_OR_RETURN(scratch, ScratchFolder::create());
  for (const std::string& name : files) TENSORTAP_RETURN_IF_ERROR(link_file(model.external_folder(), name, scratch.path()));
  const std::string path = join_path(scratch.path(), "tapped.onnx");
  TENSORTAP_RETURN_IF_ERROR(write_file_atomically(path, bytes));
  return InferenceSession::open(model.library(), path, {}, settings);
}

}  // namespace tensortap::onnxruntime
