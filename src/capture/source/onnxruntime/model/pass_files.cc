#include "source/onnxruntime/model/pass_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "format/onnx_graph/onnx_fields.h"
#include "source/onnxruntime/model/model_editor.h"
#include "source/onnxruntime/model/onnx_model.h"

namespace tensortap::onnxruntime {
namespace {

constexpr const char* kWeightsName = "tensortap.weights";
constexpr const char* kMovedName = "tensortap.moved";
constexpr uint64_t kAlignment = 64;            // of the runtime's own memory
constexpr uint64_t kLargeWeightBytes = 16384;  // kLargeWeight

// Releases the pages of `part`, which lies in the map of a file.
void release_pages(std::string_view part) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(part.data());
  const uintptr_t begin = address / page * page;
  madvise(reinterpret_cast<void*>(begin), address + part.size() - begin, MADV_DONTNEED);
}

// Copies large weights to a separate file, each to an address aligned like the runtime's own memory, so that its kernels work as usual.
class WeightMover {
 public:
  static Result<WeightMover> create(const std::string& folder) {
    WeightMover mover;
    TENSORTAP_ASSIGN_OR_RETURN(mover.to_, File::open(join_path(folder, kMovedName), O_WRONLY | O_CREAT | O_EXCL));
    return mover;
  }

  // Those of the runtime's file are also moved.
  Status open_written(const std::string& folder) {
    TENSORTAP_ASSIGN_OR_RETURN(written_, MappedFile::open(join_path(folder, kWeightsName)));
    return {};
  }

  Result<std::string> move(std::string_view tensor) {
    std::string storage;
    TENSORTAP_ASSIGN_OR_RETURN(const TensorProto data, read_tensor_proto(tensor, storage));
    const bool is_written = data.external.file == kWeightsName;
    const bool is_large = data.external.file.empty() && data.has_raw && data.raw.size() >= kLargeWeightBytes;
    if (!is_written && !is_large) return std::string(tensor);
    const std::string_view all = written_.text();
    if (is_written && (data.external.offset > all.size() || data.external.length > all.size() - data.external.offset))
      return corrupt("a weight lies outside of the file that the runtime wrote");
    const std::string_view values = is_written ? all.substr(data.external.offset, data.external.length) : data.raw;
    const uint64_t offset = end_;
    TENSORTAP_RETURN_IF_ERROR(to_.write_at(offset, std::as_bytes(std::span(values))));
    release_pages(values);
    end_ = (offset + values.size() + kAlignment - 1) / kAlignment * kAlignment;
    return moved(tensor, offset, values.size());
  }

  [[nodiscard]] bool has_moved() const { return end_ > 0; }

 private:
  WeightMover() = default;

  static void add_entry(protozero::pbf_writer& tensor, const char* key, const std::string& value) {
    std::string entry;
    protozero::pbf_writer writer(entry);
    writer.add_string(1, key);
    writer.add_string(2, value);
    tensor.add_message(onnx_field::tensor::kExternalData, entry);
  }

  static std::string moved(std::string_view tensor, uint64_t offset, uint64_t length) {
    constexpr int32_t kExternal = 1;
    std::string bytes;
    protozero::pbf_reader reader(onnx_field::view(tensor));
    onnx_field::RawField raw;
    while (onnx_field::next_raw(reader, raw)) {
      const bool is_place = raw.tag == onnx_field::tensor::kExternalData || raw.tag == onnx_field::tensor::kDataLocation;
      if (!is_place && raw.tag != onnx_field::tensor::kRawData) bytes += raw.whole;
    }
    protozero::pbf_writer writer(bytes);
    add_entry(writer, "location", kMovedName);
    add_entry(writer, "offset", concat(offset));
    add_entry(writer, "length", concat(length));
    writer.add_enum(onnx_field::tensor::kDataLocation, kExternal);
    return bytes;
  }

  MappedFile written_;
  File to_;
  uint64_t end_ = 0;
};

bool has_nested_graphs(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return !node.subgraphs.empty(); });
}

bool all_aligned(const Graph& graph) {
  std::string storage;
  return std::ranges::all_of(graph.initializers, [&storage](const Initializer& initializer) {
    if (!is_outside(initializer)) return true;
    const auto tensor = read_tensor_proto(initializer.bytes, storage);
    return tensor.ok() && tensor->external.offset % kAlignment == 0;
  });
}

bool is_empty(const std::string& path) {
  const auto file = File::open(path, O_RDONLY);
  const auto size = file.ok() ? file->size() : Result<uint64_t>(0);
  return !size.ok() || *size == 0;
}

Status align_weights(std::string& bytes, const std::string& folder) {
  TENSORTAP_ASSIGN_OR_RETURN(WeightMover mover, WeightMover::create(folder));
  TENSORTAP_RETURN_IF_ERROR(mover.open_written(folder));
  TENSORTAP_ASSIGN_OR_RETURN(bytes, edit_weights(bytes, [&mover](std::string_view tensor) { return mover.move(tensor); }));
  unlink(join_path(folder, kWeightsName).c_str());
  return {};
}

}  // namespace

std::optional<PassWeights> instead_of(PassWeights weights) {
  if (weights == PassWeights::kApart) return PassWeights::kMoved;
  if (weights == PassWeights::kDropped) return PassWeights::kForgotten;
  return std::nullopt;
}

PassFiles::PassFiles(PassWeights weights) : weights_(weights) {
  if (weights_ != PassWeights::kInside && weights_ != PassWeights::kForgotten) {
    auto folder = ScratchFolder::create();
    if (folder.ok()) {
      scratch_ = *std::move(folder);
    } else {
      weights_ = weights_ == PassWeights::kDropped ? PassWeights::kForgotten : PassWeights::kInside;
    }
  }
  if (!runtime_writes_weights()) fd_ = memfd_create("tensortap-model", MFD_CLOEXEC);
  if (weights_ == PassWeights::kDropped) {
    // Where this fails, the weights are written and removed.
    [[maybe_unused]] const int linked = symlink("/dev/null", join_path(scratch_.path(), kWeightsName).c_str());
  }
}

PassFiles::~PassFiles() {
  if (fd_ >= 0) close(fd_);
  blocked_.take_back();
}

std::string PassFiles::path() const {
  return runtime_writes_weights() ? join_path(scratch_.path(), "model.onnx") : concat("/proc/self/fd/", fd_);
}

std::string PassFiles::weights_name() const { return runtime_writes_weights() ? kWeightsName : ""; }

Result<OptimizedModel> PassFiles::take_model() {
  if (!runtime_writes_weights()) return take_written_inside();
  OptimizedModel model;
  TENSORTAP_ASSIGN_OR_RETURN(model.bytes, read_file(path()));
  if (model.bytes.empty()) return internal_error("ONNX Runtime wrote no optimised model");
  TENSORTAP_ASSIGN_OR_RETURN(const Model read, read_model(model.bytes, "the optimised model"));
  // ONNX Runtime then lists weights of nested graphs twice.
  if (has_nested_graphs(read.graph)) return unsupported("weights of nested graphs cannot be written apart");
  if (weights_ == PassWeights::kDropped || is_empty(join_path(scratch_.path(), kWeightsName))) return model;
  if (!all_aligned(read.graph)) TENSORTAP_RETURN_IF_ERROR(align_weights(model.bytes, scratch_.path()));
  model.external_folder = scratch_.path();
  model.scratch = std::move(scratch_);
  return model;
}

Result<OptimizedModel> PassFiles::take_written_inside() {
  TENSORTAP_ASSIGN_OR_RETURN(const MappedFile written, MappedFile::open(path()));
  if (written.bytes().empty()) return internal_error("ONNX Runtime wrote no optimised model");
  OptimizedModel model;
  if (weights_ == PassWeights::kForgotten) {
    TENSORTAP_ASSIGN_OR_RETURN(model.bytes, without_weights(written.text()));
    return model;
  }
  if (weights_ == PassWeights::kMoved) {
    TENSORTAP_ASSIGN_OR_RETURN(WeightMover mover, WeightMover::create(scratch_.path()));
    auto moved = edit_weights(written.text(), [&mover](std::string_view tensor) { return mover.move(tensor); });
    if (moved.ok() && mover.has_moved()) {
      model.bytes = *std::move(moved);
      model.external_folder = scratch_.path();
      model.scratch = std::move(scratch_);
      return model;
    }
  }
  model.bytes = std::string(written.text());
  return model;
}

}  // namespace tensortap::onnxruntime
