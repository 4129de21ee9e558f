// Stands for libatb.so: weak functions that say no, which a preloaded library takes the place of.

#include "probe.h"

namespace atb {

bool Probe::IsTensorNeedSave(const std::vector<int64_t>& /*ids*/, const std::string& /*type*/) { return false; }
bool Probe::IsSaveTensorInSpecificDir(const std::string& /*folder*/) { return false; }
bool Probe::IsExecuteCountInRange(uint64_t /*count*/) { return false; }
bool Probe::IsSaveChild() { return false; }
bool Probe::IsSaveTensorData() { return false; }
bool Probe::IsSaveTensorDesc() { return false; }
bool Probe::IsSaveTensorBefore() { return false; }
bool Probe::IsSaveTensorAfter() { return false; }
bool Probe::IsSaveIntensor() { return false; }
bool Probe::IsSaveOuttensor() { return false; }
bool Probe::IsSaveParam() { return false; }
bool Probe::IsSaveTiling() { return false; }
bool Probe::IsOverflowCheck() { return false; }
bool Probe::IsOverflowStop() { return false; }
bool Probe::ReportOperationGraphEnable() { return false; }
bool Probe::ReportOperationStatisticEnable() { return false; }
bool Probe::ReportOperationIOTensorEnable() { return false; }
bool Probe::ReportKernelIOTensorEnable() { return false; }
void Probe::UpdateConfig() {}
void Probe::SaveTensor(const std::string& /*format*/, const std::string& /*type*/, const std::string& /*dims*/, const void* /*data*/,
                       uint64_t /*bytes*/, const std::string& /*path*/) {}
void Probe::SaveTiling(const uint8_t* /*data*/, uint64_t /*bytes*/, const std::string& /*path*/) {}
void Probe::SaveParam(const std::string& /*param*/, const std::string& /*path*/) {}
void Probe::ReportOperationGraph(const std::string& /*operation*/, const std::string& /*graph*/) {}
void Probe::ReportOperationSetupStatistic(uint64_t /*count*/, const std::string& /*operation*/, const std::string& /*statistic*/) {}
void Probe::ReportOperationExecuteStatistic(uint64_t /*count*/, const std::string& /*operation*/, const std::string& /*statistic*/) {}
void Probe::ReportOperationIOTensor(uint64_t /*count*/, const std::string& /*operation*/, const std::string& /*param*/,
                                    const Tensors& /*inputs*/, const Tensors& /*outputs*/) {}
void Probe::ReportKernelIOTensor(uint64_t /*count*/, const std::string& /*kernel*/, const std::string& /*param*/, const Tensors& /*inputs*/,
                                 const Tensors& /*outputs*/) {}
void Probe::ReportOverflowKernel(const std::string& /*text*/) {}

}  // namespace atb

namespace atb_speed {

bool SpeedProbe::IsReportModelTopoInfo(const std::string& /*model*/) { return false; }
void SpeedProbe::ReportModelTopoInfo(const std::string& /*model*/, const std::string& /*graph*/) {}

}  // namespace atb_speed
