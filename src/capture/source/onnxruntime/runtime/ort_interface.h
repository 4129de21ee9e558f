// The part of ONNX Runtime's C interface that tensortap uses, declared here because no released package brings the header along with the
// library. The interface is a table of function pointers that is only ever appended to, so one binary serves every release: a function
// is named by its slot number and the first release that has it.
//
// There is no null pointer behind the end of an older table: reading a slot too far jumps into nothing. Api::find therefore
// refuses every slot that the loaded release does not have.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_ORT_INTERFACE_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_ORT_INTERFACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/text.h"

namespace tensortap::onnxruntime {

// Types and structures exactly as the library has them.
namespace abi {

struct Status;
struct Env;
struct Session;
struct SessionOptions;
struct RunOptions;
struct Value;
struct Allocator;
struct TensorInfo;
struct Logger;
struct KernelInfo;
struct KernelContext;
struct CustomOpDomain;
struct IoBinding;
struct PrepackedWeights;

struct ApiBase {
  const void* (*get_api)(uint32_t version);
  const char* (*get_version_string)();
};

enum ValueType : int32_t { kValueTensor = 1, kValueSequence = 2, kValueMap = 3, kValueSparse = 5, kValueOptional = 6 };
enum OptimizationLevel : int32_t { kOptimizeNone = 0, kOptimizeBasic = 1, kOptimizeExtended = 2, kOptimizeAll = 99 };
enum ExecutionMode : int32_t { kSequential = 0, kParallel = 1 };
enum LoggingLevel : int32_t { kLogWarning = 2, kLogError = 3, kLogFatal = 4 };
enum ErrorCode : int32_t {
  kFail = 1,
  kInvalidArgument = 2,
  kNoSuchFile = 3,
  kInvalidProtobuf = 7,
  kNotImplemented = 9,
  kInvalidGraph = 10
};
enum Characteristic : int32_t { kRequired = 0, kOptional = 1, kVariadic = 2 };

using LoggingFunction = void(void* parameter, int32_t severity, const char* category, const char* log_id, const char* location,
                             const char* message);
using ParallelTask = void(void* context, size_t index);

// A custom operator: the library keeps a pointer to it and calls through it. Members are in the order of the library's header.
struct CustomOp {
  uint32_t version;
  void* (*create_kernel)(const CustomOp* op, const void* api, const KernelInfo* info);
  const char* (*get_name)(const CustomOp* op);
  const char* (*get_execution_provider_type)(const CustomOp* op);
  int32_t (*get_input_type)(const CustomOp* op, size_t index);
  size_t (*get_input_type_count)(const CustomOp* op);
  int32_t (*get_output_type)(const CustomOp* op, size_t index);
  size_t (*get_output_type_count)(const CustomOp* op);
  void (*kernel_compute)(void* kernel, KernelContext* context);
  void (*kernel_destroy)(void* kernel);
  int32_t (*get_input_characteristic)(const CustomOp* op, size_t index);
  int32_t (*get_output_characteristic)(const CustomOp* op, size_t index);
  int32_t (*get_input_memory_type)(const CustomOp* op, size_t index);
  int (*get_variadic_input_min_arity)(const CustomOp* op);
  int (*get_variadic_input_homogeneity)(const CustomOp* op);
  int (*get_variadic_output_min_arity)(const CustomOp* op);
  int (*get_variadic_output_homogeneity)(const CustomOp* op);
  Status* (*create_kernel_v2)(const CustomOp* op, const void* api, const KernelInfo* info, void** kernel);
  Status* (*kernel_compute_v2)(void* kernel, KernelContext* context);
  Status* (*infer_output_shape)(const CustomOp* op, void* context);
  int (*get_start_version)(const CustomOp* op);
  int (*get_end_version)(const CustomOp* op);
  size_t (*get_may_inplace)(int** input_index, int** output_index);
  void (*release_may_inplace)(int* input_index, int* output_index);
  size_t (*get_alias_map)(int** input_index, int** output_index);
  void (*release_alias_map)(int* input_index, int* output_index);
};
static_assert(sizeof(CustomOp) == 208);

// The release whose layout CustomOp has: a custom op must not claim to be newer than this nor than the library.
inline constexpr uint32_t kCustomOpRelease = 23;

}  // namespace abi

// One function of the table.
template <class Signature>
struct Function {
  uint16_t slot;
  uint16_t since;  // minor number of the first release that has it; releases before kOldestRelease are not supported at all
};

inline constexpr int kOldestRelease = 19;

namespace ort {
using abi::Status;
inline constexpr Function<Status*(int32_t code, const char* message)> kCreateStatus{0, 0};
inline constexpr Function<int32_t(const Status*)> kGetErrorCode{1, 0};
inline constexpr Function<const char*(const Status*)> kGetErrorMessage{2, 0};
inline constexpr Function<Status*(int32_t level, const char* id, abi::Env**)> kCreateEnv{3, 0};
inline constexpr Function<Status*(abi::LoggingFunction*, void* parameter, int32_t level, const char* id, abi::Env**)>
    kCreateEnvWithCustomLogger{4, 0};
inline constexpr Function<Status*(const abi::Env*, const char* path, const abi::SessionOptions*, abi::Session**)> kCreateSession{7, 0};
inline constexpr Function<Status*(const abi::Env*, const void* data, size_t size, const abi::SessionOptions*, abi::Session**)>
    kCreateSessionFromArray{8, 0};
inline constexpr Function<Status*(abi::Session*, const abi::RunOptions*, const char* const* input_names, const abi::Value* const* inputs,
                                  size_t input_count, const char* const* output_names, size_t output_count, abi::Value** outputs)>
    kRun{9, 0};
inline constexpr Function<Status*(abi::SessionOptions**)> kCreateSessionOptions{10, 0};
inline constexpr Function<Status*(abi::SessionOptions*, const char* path)> kSetOptimizedModelFilePath{11, 0};
inline constexpr Function<Status*(const abi::SessionOptions*, abi::SessionOptions**)> kCloneSessionOptions{12, 0};
inline constexpr Function<Status*(abi::SessionOptions*, int32_t mode)> kSetSessionExecutionMode{13, 0};
inline constexpr Function<Status*(abi::SessionOptions*, const char* prefix)> kEnableProfiling{14, 0};
inline constexpr Function<Status*(abi::SessionOptions*)> kDisableProfiling{15, 0};
inline constexpr Function<Status*(abi::SessionOptions*, int level)> kSetSessionLogSeverityLevel{22, 0};
inline constexpr Function<Status*(abi::SessionOptions*, int32_t level)> kSetSessionGraphOptimizationLevel{23, 0};
inline constexpr Function<Status*(abi::SessionOptions*, int count)> kSetIntraOpNumThreads{24, 0};
inline constexpr Function<Status*(const char* name, abi::CustomOpDomain**)> kCreateCustomOpDomain{26, 0};
inline constexpr Function<Status*(abi::CustomOpDomain*, const abi::CustomOp*)> kCustomOpDomainAdd{27, 0};
inline constexpr Function<Status*(abi::SessionOptions*, abi::CustomOpDomain*)> kAddCustomOpDomain{28, 0};
inline constexpr Function<Status*(abi::SessionOptions*, const char* path, void** library)> kRegisterCustomOpsLibrary{29, 0};
inline constexpr Function<Status*(abi::RunOptions**)> kCreateRunOptions{39, 0};
inline constexpr Function<Status*(abi::RunOptions*, int level)> kRunOptionsSetRunLogSeverityLevel{41, 0};
inline constexpr Function<Status*(abi::Allocator*, const int64_t* dims, size_t rank, int32_t type, abi::Value**)> kCreateTensorAsOrtValue{
    48, 0};
inline constexpr Function<Status*(abi::Value*, void** data)> kGetTensorMutableData{51, 0};
inline constexpr Function<Status*(abi::Value*, const char* const* strings, size_t count)> kFillStringTensor{52, 0};
inline constexpr Function<Status*(const abi::Value*, size_t* size)> kGetStringTensorDataLength{53, 0};
inline constexpr Function<Status*(const abi::Value*, void* text, size_t size, size_t* offsets, size_t count)> kGetStringTensorContent{54,
                                                                                                                                      0};
inline constexpr Function<Status*(const abi::TensorInfo*, int32_t* type)> kGetTensorElementType{60, 0};
inline constexpr Function<Status*(const abi::TensorInfo*, size_t* rank)> kGetDimensionsCount{61, 0};
inline constexpr Function<Status*(const abi::TensorInfo*, int64_t* dims, size_t rank)> kGetDimensions{62, 0};
inline constexpr Function<Status*(const abi::Value*, abi::TensorInfo**)> kGetTensorTypeAndShape{65, 0};
inline constexpr Function<Status*(const abi::Value*, int32_t* type)> kGetValueType{67, 0};
inline constexpr Function<Status*(abi::Allocator*, void*)> kAllocatorFree{76, 0};
inline constexpr Function<Status*(abi::Allocator**)> kGetAllocatorWithDefaultOptions{78, 0};
inline constexpr Function<Status*(const abi::Value*, int index, abi::Allocator*, abi::Value**)> kGetValue{80, 0};
inline constexpr Function<Status*(const abi::Value*, size_t* count)> kGetValueCount{81, 0};
inline constexpr Function<Status*(const abi::Value* const* values, size_t count, int32_t type, abi::Value**)> kCreateValue{82, 0};
inline constexpr Function<Status*(const abi::KernelInfo*, const char* name, int64_t*)> kKernelInfoGetAttributeInt64{86, 0};
inline constexpr Function<Status*(const abi::KernelContext*, size_t*)> kKernelContextGetInputCount{88, 0};
inline constexpr Function<Status*(const abi::KernelContext*, size_t index, const abi::Value**)> kKernelContextGetInput{90, 0};
inline constexpr Function<Status*(abi::KernelContext*, size_t index, const int64_t* dims, size_t rank, abi::Value**)>
    kKernelContextGetOutput{91, 0};
inline constexpr Function<void(abi::Env*)> kReleaseEnv{92, 0};
inline constexpr Function<void(Status*)> kReleaseStatus{93, 0};
inline constexpr Function<void(abi::Session*)> kReleaseSession{95, 0};
inline constexpr Function<void(abi::Value*)> kReleaseValue{96, 0};
inline constexpr Function<void(abi::RunOptions*)> kReleaseRunOptions{97, 0};
inline constexpr Function<void(abi::TensorInfo*)> kReleaseTensorTypeAndShapeInfo{99, 0};
inline constexpr Function<void(abi::SessionOptions*)> kReleaseSessionOptions{100, 0};
inline constexpr Function<void(abi::CustomOpDomain*)> kReleaseCustomOpDomain{101, 0};
inline constexpr Function<Status*(abi::Session*, abi::Allocator*, char** path)> kSessionEndProfiling{110, 0};
inline constexpr Function<Status*(abi::SessionOptions*, const char* key, const char* value)> kAddSessionConfigEntry{130, 0};
inline constexpr Function<Status*(abi::Session*, const abi::RunOptions*, const abi::IoBinding*)> kRunWithBinding{133, 0};
inline constexpr Function<Status*(abi::SessionOptions*, const char* name, const abi::Value*)> kAddInitializer{150, 0};
inline constexpr Function<Status*(const abi::Env*, const char* path, const abi::SessionOptions*, abi::PrepackedWeights*, abi::Session**)>
    kCreateSessionWithPrepackedWeights{168, 0};
inline constexpr Function<Status*(const abi::Env*, const void* data, size_t size, const abi::SessionOptions*, abi::PrepackedWeights*,
                                  abi::Session**)>
    kCreateSessionFromArrayWithPrepackedWeights{169, 0};
inline constexpr Function<Status*(const abi::Value*, int* has_value)> kHasValue{192, 0};
inline constexpr Function<Status*(const abi::KernelContext*, const abi::Logger**)> kKernelContextGetLogger{246, 15};
inline constexpr Function<Status*(abi::SessionOptions*, abi::LoggingFunction*, void* parameter)> kSetUserLoggingFunction{266, 17};
inline constexpr Function<Status*(const abi::KernelContext*, abi::ParallelTask*, size_t total, size_t batches, void* context)>
    kKernelContextParallelFor{274, 17};
inline constexpr Function<Status*(const abi::Value*, const void** data)> kGetTensorData{378, 23};
inline constexpr Function<Status*(const abi::Value*, int32_t* type, const int64_t** dims, size_t* rank)>
    kGetTensorElementTypeAndShapeDataReference{414, 24};
}  // namespace ort

template <class T>
struct Releaser {
  void (*release)(T*) = nullptr;
  void operator()(T* pointer) const { release(pointer); }
};
// An object of the library, released with it.
template <class T>
using Owned = std::unique_ptr<T, Releaser<T>>;

// The function table of one loaded library. A value: copy it into whatever needs it (several libraries may live in one process, so
// there is no global one). Immutable, thread-safe as far as the library is.
class Api {
 public:
  Api() = default;
  Api(const void* table, int release) : table_(static_cast<const void* const*>(table)), release_(release) {}

  [[nodiscard]] int release() const { return release_; }

  // Null when the loaded release is older than the function.
  template <class Signature>
  [[nodiscard]] Signature* find(const Function<Signature>& function) const {
    if (table_ == nullptr || release_ < function.since) return nullptr;
    union {
      const void* data;
      Signature* code;
    } pointer{table_[function.slot]};
    return pointer.code;
  }

  template <class... Parameters, class... Arguments>
  Status call(const Function<abi::Status*(Parameters...)>& function, Arguments... arguments) const {
    auto* pointer = find(function);
    if (pointer == nullptr) return unsupported(concat("this needs ONNX Runtime 1.", function.since, ", the library is 1.", release_));
    return check(pointer(arguments...));
  }

  // What one of the library's own says, which is released.
  [[nodiscard]] Status check(abi::Status* status) const { return status == nullptr ? Status() : take(status); }

  template <class T>
  Owned<T> own(const Function<void(T*)>& release, T* pointer) const {
    return Owned<T>(pointer, Releaser<T>{find(release)});
  }

 private:
  Status take(abi::Status* status) const {
    const int32_t code = find(ort::kGetErrorCode)(status);
    std::string message = find(ort::kGetErrorMessage)(status);
    find(ort::kReleaseStatus)(status);
    switch (code) {
      case abi::kInvalidArgument:
      case abi::kInvalidGraph:
        return invalid_argument(std::move(message));
      case abi::kNoSuchFile:
        return not_found(std::move(message));
      case abi::kInvalidProtobuf:
        return corrupt(std::move(message));
      case abi::kNotImplemented:
        return unsupported(std::move(message));
      default:
        return internal_error(std::move(message));
    }
  }

  const void* const* table_ = nullptr;
  int release_ = 0;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_ORT_INTERFACE_H_
