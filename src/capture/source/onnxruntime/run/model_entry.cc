// The C functions of include/tensortap/onnxruntime.h about a model that stays loaded. Nothing thrown leaves them.

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include "base/json.h"
#include "source/onnxruntime/run/loaded_model.h"
#include "tensortap/onnxruntime.h"

struct tensortap_onnxruntime_model {
  std::unique_ptr<tensortap::onnxruntime::LoadedModel> loaded;
};

namespace tensortap::onnxruntime {
namespace {

void give_report(char** report, const Json& json) {
  if (report == nullptr) return;
  const std::string text = to_json_text(json);
  *report = static_cast<char*>(std::malloc(text.size() + 1));
  if (*report != nullptr) std::memcpy(*report, text.c_str(), text.size() + 1);
}

template <class Code>
int status_number(Code&& code) noexcept {
  try {
    return static_cast<int>(code().code());
  } catch (...) {
    return TENSORTAP_INTERNAL;
  }
}

Status open_model(const tensortap_onnxruntime_model_options* given, tensortap_onnxruntime_model** model, char** report) {
  if (given == nullptr || model == nullptr) return invalid_argument("`options` or `model` is null");
  tensortap_onnxruntime_model_options options{};
  std::memcpy(&options, given, given->size < sizeof(options) ? given->size : sizeof(options));
  auto loaded = LoadedModel::open(options);
  if (!loaded.ok()) {
    give_report(report, {{"error", loaded.status().message()}});
    return loaded.status();
  }
  auto handle = std::make_unique<tensortap_onnxruntime_model>();
  handle->loaded = *std::move(loaded);
  give_report(report, handle->loaded->describe());
  *model = handle.release();
  return {};
}

}  // namespace
}  // namespace tensortap::onnxruntime

using tensortap::onnxruntime::RunCallbacks;
using tensortap::onnxruntime::status_number;

extern "C" {

int tensortap_onnxruntime_model_open(const tensortap_onnxruntime_model_options* options, tensortap_onnxruntime_model** model,
                                     char** report) noexcept {
  if (model != nullptr) *model = nullptr;
  if (report != nullptr) *report = nullptr;
  return status_number([&]() -> tensortap::Status {
    try {
      return tensortap::onnxruntime::open_model(options, model, report);
    } catch (const std::exception& error) {
      tensortap::onnxruntime::give_report(report, {{"error", error.what()}});
      return tensortap::internal_error(error.what());
    }
  });
}

int tensortap_onnxruntime_model_run(tensortap_onnxruntime_model* model, const tensortap_tensor* inputs, uint64_t input_count,
                                    void (*on_output)(void* user, int64_t step, const tensortap_tensor* output), void* user,
                                    char** report) noexcept {
  if (report != nullptr) *report = nullptr;
  return status_number([&]() -> tensortap::Status {
    if (model == nullptr || (inputs == nullptr && input_count > 0)) return tensortap::invalid_argument("no model or no inputs");
    tensortap_onnxruntime_run_options options{};
    options.size = sizeof(options);
    options.on_output = on_output;
    options.user = user;
    tensortap::Json failed_op;
    const tensortap::Status status = model->loaded->run(inputs, input_count, RunCallbacks(options), failed_op);
    if (!status.ok()) tensortap::onnxruntime::give_report(report, {{"error", status.message()}, {"failed_op", failed_op}});
    return status;
  });
}

int tensortap_onnxruntime_model_flush(tensortap_onnxruntime_model* model) noexcept {
  return status_number([&] { return model == nullptr ? tensortap::Status() : model->loaded->flush(); });
}

int tensortap_onnxruntime_model_end_capture(tensortap_onnxruntime_model* model) noexcept {
  return status_number([&] { return model == nullptr ? tensortap::Status() : model->loaded->end_capture(); });
}

int tensortap_onnxruntime_model_close(tensortap_onnxruntime_model* model) noexcept {
  return status_number([&] {
    const std::unique_ptr<tensortap_onnxruntime_model> owned(model);
    return owned ? owned->loaded->end_capture() : tensortap::Status();
  });
}
}
