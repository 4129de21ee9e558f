// The C functions of include/tensortap/onnxruntime.h for programs under `tensortap exec`. Nothing thrown leaves them.

#include <dlfcn.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/message.h"
#include "base/report_status.h"
#include "base/silenced.h"
#include "base/text.h"
#include "source/onnxruntime/program/binding_session_maker.h"
#include "source/onnxruntime/program/exec_capture.h"
#include "source/onnxruntime/program/foreign_session.h"
#include "source/onnxruntime/program/given_model.h"
#include "source/onnxruntime/program/python_start.h"
#include "source/onnxruntime/program/watched_runtime.h"
#include "source/onnxruntime/taps/session_lines.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::onnxruntime {
namespace {

using SharedSession = std::shared_ptr<ForeignSession>;

// The model as the maker has it.
GivenModel model_of(const tensortap_onnxruntime_maker& maker) {
  return {maker.path, maker.model, maker.model_size, maker.version == nullptr ? "" : maker.version};
}

// Why the last session of this thread has no taps.
Uncaptured& reason_of_thread() {
  static thread_local Uncaptured why;
  return why;
}

bool is_usable(const tensortap_onnxruntime_maker* maker) {
  return maker != nullptr && maker->size >= sizeof(tensortap_onnxruntime_maker) && maker->optimise != nullptr && maker->load != nullptr &&
         maker->load_twin != nullptr && maker->reorder != nullptr && maker->make_plain != nullptr;
}

// Options of a session that the runtime gave to RegisterCustomOps(), with the interface for them.
struct RegisteredOptions {
  abi::SessionOptions* options;
  Api api;
  abi::CustomOpDomain* taps;
};

std::unique_ptr<RegisteredOptions>& registered_on_thread() {
  static thread_local std::unique_ptr<RegisteredOptions> registered;
  return registered;
}

void start() {
  const ExecCapture* capture = ExecCapture::of_process();
  if (capture == nullptr) return;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&tensortap_onnxruntime_start_python), &info) == 0) return;
  const std::string problem = start_python(capture->request().python_package, info.dli_fname);
  if (problem.empty()) return;
  say(concat(capture->request().python_package, "/tensortap/_onnxruntime: ", problem,
             ". Models that Python runs with ONNX Runtime are not captured."));
}

std::string_view text_of(const char* text) { return text == nullptr ? std::string_view() : std::string_view(text); }

template <class Call>
int answer_status(char* message, size_t capacity, Call&& call) noexcept {
  return silenced(static_cast<int>(TENSORTAP_INTERNAL), [&] { return report_status(call(), message, capacity); });
}

}  // namespace
}  // namespace tensortap::onnxruntime

using namespace tensortap::onnxruntime;
using tensortap::silenced;

extern "C" {

const void* tensortap_onnxruntime_wrap(const void* api_base) noexcept { return watch_runtime(static_cast<const abi::ApiBase*>(api_base)); }

void tensortap_onnxruntime_start_python(void) noexcept {
  silenced(0, [] { return start(), 0; });
}

void* tensortap_onnxruntime_capture(const tensortap_onnxruntime_maker* maker) noexcept {
  return silenced(static_cast<void*>(nullptr), [maker]() -> void* {
    reason_of_thread() = {};
    if (!is_usable(maker)) return nullptr;
    const GivenModel model = model_of(*maker);
    BindingSessionMaker calls(*maker);
    SharedSession session = ForeignSession::make(calls, model.get(), reason_of_thread());
    return session == nullptr ? nullptr : new SharedSession(std::move(session));
  });
}

int tensortap_onnxruntime_set_dump(const void* session, const char* name, int enabled, char* message, size_t capacity) noexcept {
  return answer_status(message, capacity, [=] { return set_dump_of_session(session, text_of(name), enabled != 0); });
}

int tensortap_onnxruntime_request(void* session, const char* name, int enabled, char* message, size_t capacity) noexcept {
  return answer_status(message, capacity, [=] {
    return session == nullptr ? tensortap::Status() : (*static_cast<SharedSession*>(session))->set_dump(text_of(name), enabled != 0);
  });
}

void tensortap_onnxruntime_answer(const void* data, uint64_t size) noexcept {
  silenced(0, [=] { return BindingSessionMaker::answer({static_cast<const char*>(data), size}), 0; });
}

void tensortap_onnxruntime_runs_plain(const tensortap_onnxruntime_maker* maker) noexcept {
  silenced(0, [maker] {
    if (is_usable(maker) && !reason_of_thread().reason.ok()) account_for_uncaptured(model_of(*maker).get(), reason_of_thread());
    reason_of_thread() = {};
    return 0;
  });
}

void tensortap_onnxruntime_release(void* session) noexcept { delete static_cast<SharedSession*>(session); }

void* tensortap_onnxruntime_run_begins(void* session, uint64_t kind, int* by_twin) noexcept {
  if (by_twin != nullptr) *by_twin = 0;
  if (session == nullptr) return nullptr;
  return silenced(static_cast<void*>(nullptr), [=]() -> void* {
    auto run = std::make_unique<ForeignSession::AnnouncedRun>(*static_cast<SharedSession*>(session), kind);
    if (by_twin != nullptr) *by_twin = run->goes_to_twin() ? 1 : 0;
    return run.release();
  });
}

int tensortap_onnxruntime_run_failed(void* run, const char* error, const char* obstacle) noexcept {
  auto* announced = static_cast<ForeignSession::AnnouncedRun*>(run);
  if (announced == nullptr || error == nullptr) return 0;
  return silenced(0, [=] { return announced->failed(error, text_of(obstacle)) ? 1 : 0; });
}

void tensortap_onnxruntime_ran_again(void* run, const char* error) noexcept {
  auto* announced = static_cast<ForeignSession::AnnouncedRun*>(run);
  if (announced != nullptr) silenced(0, [=] { return announced->ran_again(text_of(error)), 0; });
}

void tensortap_onnxruntime_run_ends(void* run, const char* error) noexcept {
  auto* announced = static_cast<ForeignSession::AnnouncedRun*>(run);
  if (announced == nullptr) return;
  tensortap_onnxruntime_run_failed(run, error, "the run cannot be made once more");
  delete announced;
}

void* tensortap_onnxruntime_registered_options(void) noexcept {
  return silenced(static_cast<void*>(nullptr), []() -> void* { return registered_on_thread().release(); });
}

void tensortap_onnxruntime_release_options(void* options) noexcept { delete static_cast<RegisteredOptions*>(options); }

// Without the operators no tapped model loads, which is then the error.
void tensortap_onnxruntime_give_taps(void* options) noexcept {
  const auto* given = static_cast<const RegisteredOptions*>(options);
  if (given == nullptr) return;
  silenced(0, [given] { return given->api.call(ort::kAddCustomOpDomain, given->options, given->taps).ok() ? 1 : 0; });
}

int tensortap_onnxruntime_take_lines(void* options, int ours) noexcept {
  const auto* given = static_cast<const RegisteredOptions*>(options);
  if (given == nullptr) return 0;
  return silenced(0, [=] {
    const tensortap::Status status = ours != 0 ? take_lines(given->api, given->options, {}) : leave_lines(given->api, given->options);
    return status.ok() ? 1 : 0;
  });
}

// The name by which ONNX Runtime asks a library for its operators.
TENSORTAP_API abi::Status* RegisterCustomOps(abi::SessionOptions* options, const abi::ApiBase* base) noexcept {
  return silenced(static_cast<abi::Status*>(nullptr), [=]() -> abi::Status* {
    Api api;
    const auto domain = tap_domain_of(*base, api);
    if (domain.ok()) registered_on_thread() = std::make_unique<RegisteredOptions>(RegisteredOptions{options, api, *domain});
    return nullptr;
  });
}
}
