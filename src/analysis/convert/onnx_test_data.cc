#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "convert/step_files.h"
#include "convert/step_values.h"
#include "format/onnx_tensor/onnx_tensor_write.h"

namespace tensortap {
namespace {

// A value that goes into or comes out of the model.
struct ModelValue {
  std::string name;
  OpId op = kNoOp;
  uint16_t slot = 0;
};

struct ModelValues {
  std::vector<ModelValue> inputs;
  std::vector<ModelValue> outputs;
};

// The values of the main graph: its inputs, and the outputs that no op reads.
ModelValues model_values(const DumpIndex& dump) {
  std::set<std::pair<OpId, uint32_t>> read;
  std::set<std::string_view> read_names;
  for (const OpInfo& op : dump.ops()) {
    for (const OpInput& input : op.inputs) {
      if (input.producer != kNoOp) read.emplace(input.producer, input.producer_slot);
      if (!input.name.empty()) read_names.insert(input.name);
    }
  }
  ModelValues values;
  for (OpId id = 0; id < dump.ops().size(); ++id) {
    const OpInfo& op = dump.ops()[id];
    if (!op.graph.empty() || op.type == kInitializerType || op.outputs.empty()) continue;
    if (op.type == kInputType) {
      values.inputs.push_back({op.outputs[0], id, 0});
      continue;
    }
    for (uint16_t slot = 0; slot < op.outputs.size(); ++slot) {
      const std::string& name = op.outputs[slot];
      if (!name.empty() && !read.contains({id, slot}) && !read_names.contains(name)) values.outputs.push_back({name, id, slot});
    }
  }
  return values;
}

class TestDataExport {
 public:
  TestDataExport(const DumpIndex& dump, TargetFolder& target, ConvertReport& report)
      : dump_(dump), values_(model_values(dump)), target_(target), report_(report) {}

  // A value that no step has is none of this model, such as an output that nothing asked for.
  void forget_values_without_records(std::span<const StepValues> steps) {
    std::set<std::pair<OpId, uint16_t>> seen;
    for (const StepValues& step : steps) {
      for (const StepValue& value : step.values) {
        const RecordRow& row = dump_.rows()[value.row];
        if (row.slot_kind == static_cast<uint8_t>(SlotKind::kOutput)) seen.emplace(row.op, row.slot_index);
      }
    }
    std::erase_if(values_.outputs, [&](const ModelValue& value) { return !seen.contains({value.op, value.slot}); });
  }
  // A program without a graph has neither.
  [[nodiscard]] bool is_of_a_model() const { return !values_.inputs.empty() && !values_.outputs.empty(); }

  void write_set(const StepValues& step, size_t number) {
    const std::string below = concat("test_data_set_", number);
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto& [word, values] : {std::pair("input_", &values_.inputs), std::pair("output_", &values_.outputs)}) {
      for (size_t i = 0; i < values->size(); ++i) {
        Result<std::string> bytes = bytes_of(step, (*values)[i]);
        if (!bytes.ok()) {
          report_.failed.push_back(
              {concat("step ", step.step), concat("value ", quote((*values)[i].name), ": ", bytes.status().message())});
          return;
        }
        files.emplace_back(concat(word, i, ".pb"), *std::move(bytes));
      }
    }
    for (const auto& [name, bytes] : files) {
      const Status status = target_.write(below, name, bytes.size(), [&](File& file) { return file.write(bytes); });
      if (!status.ok()) return report_.failed.push_back({join_path(below, name), status.message()});
      ++report_.sources;
    }
  }

 private:
  Result<std::string> bytes_of(const StepValues& step, const ModelValue& value) {
    const auto is_it = [&](const StepValue& one) {
      const RecordRow& row = dump_.rows()[one.row];
      return row.op == value.op && row.slot_index == value.slot && row.slot_kind == static_cast<uint8_t>(SlotKind::kOutput);
    };
    const auto found = std::ranges::find_if(step.values, is_it);
    if (found == step.values.end()) return not_found("its values were not captured; a set of test data needs all inputs and outputs");
    if (dump_.rows()[found->row].element >= 0) return unsupported("it is a sequence");
    TENSORTAP_ASSIGN_OR_RETURN(const RecordData data, dump_.data(found->row));
    return onnx_tensor_bytes(value.name, data.view);
  }

  const DumpIndex& dump_;
  ModelValues values_;
  TargetFolder& target_;
  ConvertReport& report_;
};

}  // namespace

void export_onnx_test_data(const DumpIndex& dump, const ConvertProgress& progress, TargetFolder& target, ConvertReport& report) {
  const std::vector<StepValues> steps = values_by_step(dump);
  TestDataExport sets(dump, target, report);
  sets.forget_values_without_records(steps);
  size_t number = 0;
  for (const StepValues& step : steps) {
    if (progress) progress(number, steps.size());
    if (!step.loaded && sets.is_of_a_model()) sets.write_set(step, number++);
  }
  if (number == 0) {
    report.failed.push_back({"the dump", "no inputs and outputs of a model are in it; capture the tensors of all ops of an ONNX model"});
  }
}

}  // namespace tensortap
