// The functions that ATB, the Ascend transformer library, and programs over it look for in a preloaded library: classes of C++ whose names
// have std::string in them. Compiled twice, for the new string ABI and for the old one (_GLIBCXX_USE_CXX11_ABI=0), and so it only turns
// the caller's strings and vectors into plain views; entry.h, compiled once, knows neither.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/silenced.h"
#include "source/atb/entry.h"

#define TENSORTAP_EXPORTED __attribute__((visibility("default")))

namespace ours = tensortap::atb;

// The names are ATB's.
namespace atb {

class Probe {
 public:
  struct Tensor {
    std::string dtype;
    std::string format;
    std::string shape;
    std::string path;
  };
  using Tensors = std::vector<Tensor>;

  TENSORTAP_EXPORTED static bool IsTensorNeedSave(const std::vector<int64_t>& ids, const std::string& type);
  TENSORTAP_EXPORTED static bool IsSaveTensorInSpecificDir(const std::string& folder);
  TENSORTAP_EXPORTED static bool IsExecuteCountInRange(uint64_t count);
  TENSORTAP_EXPORTED static bool IsSaveChild();
  TENSORTAP_EXPORTED static bool IsSaveTensorData();
  TENSORTAP_EXPORTED static bool IsSaveTensorDesc();
  TENSORTAP_EXPORTED static bool IsSaveTensorBefore();
  TENSORTAP_EXPORTED static bool IsSaveTensorAfter();
  TENSORTAP_EXPORTED static bool IsSaveIntensor();
  TENSORTAP_EXPORTED static bool IsSaveOuttensor();
  TENSORTAP_EXPORTED static bool IsSaveParam();
  TENSORTAP_EXPORTED static bool IsSaveTiling();
  TENSORTAP_EXPORTED static bool IsOverflowCheck();
  TENSORTAP_EXPORTED static bool IsOverflowStop();
  TENSORTAP_EXPORTED static bool ReportOperationGraphEnable();
  TENSORTAP_EXPORTED static bool ReportOperationStatisticEnable();
  TENSORTAP_EXPORTED static bool ReportOperationIOTensorEnable();
  TENSORTAP_EXPORTED static bool ReportKernelIOTensorEnable();
  TENSORTAP_EXPORTED static void UpdateConfig();
  TENSORTAP_EXPORTED static void SaveTensor(const std::string& format, const std::string& type, const std::string& dims, const void* data,
                                            uint64_t bytes, const std::string& path);
  TENSORTAP_EXPORTED static void SaveTiling(const uint8_t* data, uint64_t bytes, const std::string& path);
  TENSORTAP_EXPORTED static void SaveParam(const std::string& param, const std::string& path);
  TENSORTAP_EXPORTED static void ReportOperationGraph(const std::string& operation, const std::string& graph);
  TENSORTAP_EXPORTED static void ReportOperationSetupStatistic(uint64_t count, const std::string& operation, const std::string& statistic);
  TENSORTAP_EXPORTED static void ReportOperationExecuteStatistic(uint64_t count, const std::string& operation,
                                                                 const std::string& statistic);
  TENSORTAP_EXPORTED static void ReportOperationIOTensor(uint64_t count, const std::string& operation, const std::string& param,
                                                         const Tensors& inputs, const Tensors& outputs);
  TENSORTAP_EXPORTED static void ReportKernelIOTensor(uint64_t count, const std::string& kernel, const std::string& param,
                                                      const Tensors& inputs, const Tensors& outputs);
  TENSORTAP_EXPORTED static void ReportOverflowKernel(const std::string& text);
};

namespace {

std::vector<ours::ToldTensor> told(const Probe::Tensors& tensors) {
  std::vector<ours::ToldTensor> views;
  views.reserve(tensors.size());
  for (const Probe::Tensor& tensor : tensors) views.push_back({tensor.dtype, tensor.format, tensor.shape, tensor.path});
  return views;
}

void report(ours::Table table, uint64_t count, const std::string& name, const std::string& param, const Probe::Tensors& inputs,
            const Probe::Tensors& outputs) {
  tensortap::silenced(0, [&] { return ours::report_execution(table, count, name, param, told(inputs), told(outputs)), 0; });
}

}  // namespace

bool Probe::IsTensorNeedSave(const std::vector<int64_t>& ids, const std::string& type) { return ours::selects_operation(ids, type); }
bool Probe::IsSaveTensorInSpecificDir(const std::string& folder) { return ours::selects_folder(folder); }
bool Probe::IsExecuteCountInRange(uint64_t count) { return ours::selects_execution(count); }
bool Probe::IsSaveChild() { return ours::wishes(ours::Wish::kChildren); }
bool Probe::IsSaveTensorData() { return ours::wishes(ours::Wish::kData); }
bool Probe::IsSaveTensorDesc() { return ours::wishes(ours::Wish::kAnything); }
bool Probe::IsSaveTensorBefore() { return ours::wishes(ours::Wish::kBefore); }
bool Probe::IsSaveTensorAfter() { return ours::wishes(ours::Wish::kAfter); }
bool Probe::IsSaveIntensor() { return ours::wishes(ours::Wish::kInputs); }
bool Probe::IsSaveOuttensor() { return ours::wishes(ours::Wish::kOutputs); }
bool Probe::IsSaveParam() { return ours::wishes(ours::Wish::kTensors); }
bool Probe::IsSaveTiling() { return ours::wishes(ours::Wish::kTiling); }
bool Probe::IsOverflowCheck() { return ours::checks_overflow(); }
bool Probe::IsOverflowStop() { return ours::stops_at_overflow(); }
bool Probe::ReportOperationGraphEnable() { return ours::wishes(ours::Wish::kTopology); }
bool Probe::ReportOperationStatisticEnable() { return ours::wishes(ours::Wish::kTimes); }
bool Probe::ReportOperationIOTensorEnable() { return ours::wishes(ours::Wish::kOperationTable); }
bool Probe::ReportKernelIOTensorEnable() { return ours::wishes(ours::Wish::kKernelTable); }
void Probe::UpdateConfig() { ours::look_at_config(); }

void Probe::SaveTensor(const std::string& format, const std::string& type, const std::string& dims, const void* data, uint64_t bytes,
                       const std::string& path) {
  ours::save_tensor({type, format, dims, path}, data, bytes);
}

void Probe::SaveTiling(const uint8_t* data, uint64_t bytes, const std::string& path) { ours::save_tiling(data, bytes, path); }
void Probe::SaveParam(const std::string& param, const std::string& path) { ours::save_parameters(param, path); }
void Probe::ReportOperationGraph(const std::string& operation, const std::string& graph) { ours::report_graph(operation, graph); }

void Probe::ReportOperationSetupStatistic(uint64_t count, const std::string& operation, const std::string& statistic) {
  ours::report_times(count, operation, statistic);
}

void Probe::ReportOperationExecuteStatistic(uint64_t count, const std::string& operation, const std::string& statistic) {
  ours::report_times(count, operation, statistic);
}

void Probe::ReportOperationIOTensor(uint64_t count, const std::string& operation, const std::string& param, const Tensors& inputs,
                                    const Tensors& outputs) {
  report(ours::Table::kOperations, count, operation, param, inputs, outputs);
}

void Probe::ReportKernelIOTensor(uint64_t count, const std::string& kernel, const std::string& param, const Tensors& inputs,
                                 const Tensors& outputs) {
  report(ours::Table::kKernels, count, kernel, param, inputs, outputs);
}

void Probe::ReportOverflowKernel(const std::string& text) { ours::report_overflow(text); }

}  // namespace atb

namespace atb_speed {

class SpeedProbe {
 public:
  TENSORTAP_EXPORTED static bool IsReportModelTopoInfo(const std::string& model);
  TENSORTAP_EXPORTED static void ReportModelTopoInfo(const std::string& model, const std::string& graph);
};

bool SpeedProbe::IsReportModelTopoInfo(const std::string& model) { return ours::wants_model(model); }
void SpeedProbe::ReportModelTopoInfo(const std::string& model, const std::string& graph) { ours::report_model(model, graph); }

}  // namespace atb_speed
