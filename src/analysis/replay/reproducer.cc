#include "replay/reproducer.h"

#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "format/npz/npz.h"
#include "format/onnx_tensor/onnx_tensor_write.h"

namespace tensortap {
namespace {

struct NewFile {
  std::string path;
  std::string content;
};

Status check_absent(const std::string& path) {
  return path_exists(path) ? invalid_argument(concat(path, " already exists. Choose another name, or remove it")) : Status();
}

Status write_all(const std::vector<NewFile>& files) {
  for (const NewFile& file : files) TENSORTAP_RETURN_IF_ERROR(check_absent(file.path));
  for (const NewFile& file : files) {
    TENSORTAP_RETURN_IF_ERROR(make_directories(parent_path(file.path), Access::kShared));
    TENSORTAP_RETURN_IF_ERROR(write_file_atomically(file.path, file.content, Access::kShared));
  }
  return {};
}

// The recorded values of the outputs of the model.
Result<std::vector<RecordData>> recorded_outputs(const DumpIndex& dump, const RecordedOp& op, const ReplayModel& model) {
  std::vector<RecordData> values;
  for (const ReplayOutput& output : model.outputs) {
    TENSORTAP_ASSIGN_OR_RETURN(RecordData data, dump.data(op.outputs[output.output].row));
    values.push_back(std::move(data));
  }
  return values;
}

Result<std::vector<NewFile>> test_data_set(const ReplayModel& model, const std::vector<RecordData>& outputs, const std::string& path) {
  const std::string folder = join_path(parent_path(path), "test_data_set_0");
  std::vector<NewFile> files = {{path, model.bytes}};
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    TENSORTAP_ASSIGN_OR_RETURN(std::string proto, onnx_tensor_bytes(model.inputs[i].name, model.inputs[i].data.view));
    files.push_back({join_path(folder, concat("input_", i, ".pb")), std::move(proto)});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TENSORTAP_ASSIGN_OR_RETURN(std::string proto, onnx_tensor_bytes(model.outputs[i].name, outputs[i].view));
    files.push_back({join_path(folder, concat("output_", i, ".pb")), std::move(proto)});
  }
  return files;
}

std::string_view level_in_python(std::string_view optimization) {
  if (optimization == "basic") return "ORT_ENABLE_BASIC";
  if (optimization == "extended") return "ORT_ENABLE_EXTENDED";
  return optimization == "all" ? "ORT_ENABLE_ALL" : "ORT_DISABLE_ALL";
}

// Texts of a file come into the program only as quote() gives them, as JSON: Python reads that as its own.
std::string program_text(const DumpIndex& dump, const RecordedOp& op, const ReplayModel& model, const RuntimeOfDump& runtime) {
  const auto text = [](const std::string& value) { return quote(value); };
  std::vector<std::string> inputs;
  for (size_t i = 0; i < model.inputs.size(); ++i) inputs.push_back(concat(text(model.inputs[i].name), ": data[\"input_", i, "\"]"));
  std::vector<std::string> outputs;
  for (size_t i = 0; i < model.outputs.size(); ++i) outputs.push_back(text(model.outputs[i].name));
  return concat(R"("""Runs one recorded op again and compares bit by bit. Needs NumPy and onnxruntime; exit code 1 when bits differ."""

import pathlib
import sys

import numpy as np
import onnxruntime

OP = )",
                text(recorded_op_name(dump, op)), "\nTYPE = ", text(dump.ops()[op.op].type), "\nRECORDED_ON = ", text(runtime.source), R"(

data = np.load(pathlib.Path(__file__).with_suffix(".npz"))
inputs = {)",
                join(inputs, ", "), "}\noutputs = [", join(outputs, ", "), R"(]

options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.)",
                level_in_python(runtime.optimization), "\noptions.intra_op_num_threads = ", runtime.threads, R"(
session = onnxruntime.InferenceSession(data["model"].tobytes(), options, providers=["CPUExecutionProvider"])
made = session.run(outputs, inputs)

print(f"{OP} ({TYPE}) on onnxruntime {onnxruntime.__version__}, recorded on {RECORDED_ON}")
differ = False
for number, (name, now) in enumerate(zip(outputs, made)):
    then = data[f"output_{number}"]
    if now.shape != then.shape or now.dtype != then.dtype:
        print(f"output {number}: {now.dtype}{now.shape} now, {then.dtype}{then.shape} recorded")
        differ = True
    elif now.tobytes() != then.tobytes():
        place = np.argwhere((now != then) & ~((now != now) & (then != then)))
        error = np.abs(now.astype(np.float64) - then.astype(np.float64)) if now.dtype.kind in "fiub" else np.zeros(1)
        print(f"output {number}: {len(place)} of {now.size} elements differ, first at {place[:1].tolist()}, largest by {np.nanmax(error)}")
        differ = True
    else:
        print(f"output {number}: equal bit by bit")
sys.exit(1 if differ else 0)
)");
}

Result<std::vector<NewFile>> program_files(const DumpIndex& dump, const RecordedOp& op, const ReplayModel& model,
                                           const std::vector<RecordData>& outputs, const std::string& path) {
  std::vector<NamedTensor> tensors;
  const Shape bytes{static_cast<int64_t>(model.bytes.size())};
  tensors.push_back({"model", {{DType::kUInt8, bytes}, model.bytes.data(), nullptr}, nullptr});
  for (size_t i = 0; i < model.inputs.size(); ++i) tensors.push_back({concat("input_", i), model.inputs[i].data.view, nullptr});
  for (size_t i = 0; i < outputs.size(); ++i) tensors.push_back({concat("output_", i), outputs[i].view, nullptr});
  for (const NamedTensor& tensor : tensors) {
    const DTypeInfo& info = dtype_info(tensor.view.desc.dtype);
    if (info.is_raw_in_numpy || info.kind == DTypeKind::kString) {
      return unsupported(concat("a program with NumPy cannot hold ", info.name, " values. Write a .onnx file instead"));
    }
  }
  TENSORTAP_ASSIGN_OR_RETURN(std::string archive, npz_encode(tensors));
  const std::string stem = path.substr(0, path.size() - std::string_view(".py").size());
  return std::vector<NewFile>{{path, program_text(dump, op, model, runtime_of(dump))}, {stem + ".npz", std::move(archive)}};
}

}  // namespace

Status check_reproducer_path(const std::string& path) {
  if (!path.ends_with(".py") && !path.ends_with(".onnx")) return invalid_argument(concat(path, ": the file must end with .py or .onnx"));
  return check_absent(path);
}

Result<std::vector<std::string>> write_reproducer(const DumpIndex& dump, const RecordedOp& op, const std::string& path) {
  TENSORTAP_RETURN_IF_ERROR(check_reproducer_path(path));
  const bool is_program = path.ends_with(".py");
  if (!op.obstacle.empty()) return unsupported(concat(recorded_op_name(dump, op), ": ", op.obstacle));
  const RecordedOp* const one = &op;
  TENSORTAP_ASSIGN_OR_RETURN(const ReplayModel model, make_replay_model(dump, runtime_of(dump), {&one, 1}));
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<RecordData> outputs, recorded_outputs(dump, op, model));
  auto files = is_program ? program_files(dump, op, model, outputs, path) : test_data_set(model, outputs, path);
  if (!files.ok()) return files.status();
  TENSORTAP_RETURN_IF_ERROR(write_all(*files));
  std::vector<std::string> paths;
  for (const NewFile& file : *files) paths.push_back(file.path);
  return paths;
}

}  // namespace tensortap
