// The functions that ATB looks for in a preloaded library, as it declares them.

#ifndef TENSORTAP_TESTS_ATB_PROBE_H_
#define TENSORTAP_TESTS_ATB_PROBE_H_

#include <cstdint>
#include <string>
#include <vector>

#define WEAK __attribute__((weak, visibility("default")))

namespace atb {

struct Probe {
  struct Tensor {
    std::string dtype, format, shape, path;
  };
  using Tensors = std::vector<Tensor>;
  WEAK static bool IsTensorNeedSave(const std::vector<int64_t>& ids, const std::string& type);
  WEAK static bool IsSaveTensorInSpecificDir(const std::string& folder);
  WEAK static bool IsExecuteCountInRange(uint64_t count);
  WEAK static bool IsSaveChild();
  WEAK static bool IsSaveTensorData();
  WEAK static bool IsSaveTensorDesc();
  WEAK static bool IsSaveTensorBefore();
  WEAK static bool IsSaveTensorAfter();
  WEAK static bool IsSaveIntensor();
  WEAK static bool IsSaveOuttensor();
  WEAK static bool IsSaveParam();
  WEAK static bool IsSaveTiling();
  WEAK static bool IsOverflowCheck();
  WEAK static bool IsOverflowStop();
  WEAK static bool ReportOperationGraphEnable();
  WEAK static bool ReportOperationStatisticEnable();
  WEAK static bool ReportOperationIOTensorEnable();
  WEAK static bool ReportKernelIOTensorEnable();
  WEAK static void UpdateConfig();
  WEAK static void SaveTensor(const std::string& format, const std::string& type, const std::string& dims, const void* data, uint64_t bytes,
                              const std::string& path);
  WEAK static void SaveTiling(const uint8_t* data, uint64_t bytes, const std::string& path);
  WEAK static void SaveParam(const std::string& param, const std::string& path);
  WEAK static void ReportOperationGraph(const std::string& operation, const std::string& graph);
  WEAK static void ReportOperationSetupStatistic(uint64_t count, const std::string& operation, const std::string& statistic);
  WEAK static void ReportOperationExecuteStatistic(uint64_t count, const std::string& operation, const std::string& statistic);
  WEAK static void ReportOperationIOTensor(uint64_t count, const std::string& operation, const std::string& param, const Tensors& inputs,
                                           const Tensors& outputs);
  WEAK static void ReportKernelIOTensor(uint64_t count, const std::string& kernel, const std::string& param, const Tensors& inputs,
                                        const Tensors& outputs);
  WEAK static void ReportOverflowKernel(const std::string& text);
};

}  // namespace atb

namespace atb_speed {

class SpeedProbe {
 public:
  WEAK static bool IsReportModelTopoInfo(const std::string& model);
  WEAK static void ReportModelTopoInfo(const std::string& model, const std::string& graph);
};

}  // namespace atb_speed

#endif  // TENSORTAP_TESTS_ATB_PROBE_H_
