#include "source/onnxruntime/program/watched_runtime.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/message.h"
#include "base/text.h"
#include "source/onnxruntime/program/c_session_maker.h"
#include "source/onnxruntime/program/exec_capture.h"
#include "source/onnxruntime/program/foreign_session.h"
#include "source/onnxruntime/program/given_model.h"
#include "source/onnxruntime/program/repeated_run.h"
#include "source/onnxruntime/runtime/loaded_segment.h"
#include "source/onnxruntime/runtime/watched_base.h"
#include "source/onnxruntime/taps/plain_twin.h"

namespace tensortap::onnxruntime {
namespace {

using Table = std::vector<const void*>;

constexpr size_t kMostSlots = 4096;

// A session of the program, with the other things that its runs use.
struct WatchedSession {
  std::shared_ptr<ForeignSession> captured;  // null = runs plain
  std::shared_ptr<abi::Session> twin;        // null = none
};

struct WatchedRuntime : ProgramRuntime {
  const abi::ApiBase* real = nullptr;
  const void* real_table = nullptr;
  abi::ApiBase base{};
  Table table;
  std::mutex mutex;
  std::unordered_map<const abi::Session*, WatchedSession> sessions;  // guarded by mutex
};

constinit std::atomic<WatchedRuntime*> the_watched{nullptr};

// For the functions of the table, which the program cannot have before the runtime is watched.
WatchedRuntime& watched() { return *the_watched.load(std::memory_order_acquire); }

void remember(WatchedRuntime& runtime, const abi::Session* handle, WatchedSession session) {
  const std::lock_guard lock(runtime.mutex);
  runtime.sessions[handle] = std::move(session);
}

// The program asked for a file with the optimised model: it gets the one that its own options make.
void write_optimised(WatchedRuntime& runtime, const SessionCall& call) {
  if (!runtime.writing.has(call.options)) return;
  abi::Session* scratch = nullptr;
  SessionCall plain = call;
  plain.packed = nullptr;
  if (runtime.api.check(create(runtime.api, plain, &scratch)).ok()) runtime.api.find(ort::kReleaseSession)(scratch);
}

// The session with taps, or null and why.
abi::Session* make_watched(WatchedRuntime& runtime, const SessionCall& call, const ForeignModel& model, Uncaptured& why) {
  CSessionMaker maker(runtime, call);
  auto session = ForeignSession::make(maker, model, why);
  if (session == nullptr) return nullptr;
  write_optimised(runtime, call);
  abi::Session* const handle = maker.release();
  remember(runtime, handle, {std::move(session), maker.take_twin()});
  return handle;
}

abi::Status* create_session(const SessionCall& call, abi::Session** session) noexcept {
  WatchedRuntime& runtime = watched();
  if (session == nullptr) return create(runtime.api, call, session);
  try {
    const GivenModel given(call.path, call.data, call.size, runtime.version);
    Uncaptured why;
    *session = ExecCapture::of_process() == nullptr ? nullptr : make_watched(runtime, call, given.get(), why);
    if (*session != nullptr) return nullptr;
    abi::Status* status = create(runtime.api, call, session);
    if (status != nullptr) return status;
    remember(runtime, *session, {});
    account_for_uncaptured(given.get(), why);
    return nullptr;
  } catch (...) {
    return create(runtime.api, call, session);
  }
}

void say_unknown_session() {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  say("a session that was made neither of a file nor of bytes runs uncaptured");
}

WatchedSession session_of(const abi::Session* handle) {
  WatchedRuntime& runtime = watched();
  {
    const std::lock_guard lock(runtime.mutex);
    if (const auto found = runtime.sessions.find(handle); found != runtime.sessions.end()) return found->second;
  }
  say_unknown_session();
  return {};
}

// A run of the library's, announced when its session is captured; `call` gets the session that runs. A run with a binding belongs to the
// program's own session. Errors of the capture do not reach the program.
template <class Call>
abi::Status* announced(abi::Session* handle, const GivenRun& given, Call call) noexcept {
  std::optional<ForeignSession::AnnouncedRun> run;
  std::shared_ptr<abi::Session> twin;
  try {
    if (WatchedSession session = session_of(handle); session.captured != nullptr) {
      const bool may_choose = given.inputs != nullptr && session.twin != nullptr;
      run.emplace(session.captured, may_choose ? kind_of_inputs(watched().api, given.inputs, given.input_count) : 0);
      if (may_choose && run->goes_to_twin()) twin = std::move(session.twin);
    }
  } catch (...) {
    run.reset();
    twin.reset();
  }
  abi::Status* status = call(twin != nullptr ? twin.get() : handle);
  if (run.has_value() && status != nullptr) {
    try {
      given.failed(watched().api, handle, status, *run);
    } catch (...) {
      run.reset();
    }
  }
  return status;
}

// ---- the functions of the table

abi::Status* watched_create_session(const abi::Env* env, const char* path, const abi::SessionOptions* options, abi::Session** session) {
  return create_session({env, path, nullptr, 0, options, nullptr}, session);
}

abi::Status* watched_create_from_array(const abi::Env* env, const void* data, size_t size, const abi::SessionOptions* options,
                                       abi::Session** session) {
  return create_session({env, nullptr, data, size, options, nullptr}, session);
}

abi::Status* watched_create_packed(const abi::Env* env, const char* path, const abi::SessionOptions* options, abi::PrepackedWeights* packed,
                                   abi::Session** session) {
  return create_session({env, path, nullptr, 0, options, packed}, session);
}

abi::Status* watched_create_from_array_packed(const abi::Env* env, const void* data, size_t size, const abi::SessionOptions* options,
                                              abi::PrepackedWeights* packed, abi::Session** session) {
  return create_session({env, nullptr, data, size, options, packed}, session);
}

abi::Status* watched_run(abi::Session* session, const abi::RunOptions* options, const char* const* input_names,
                         const abi::Value* const* inputs, size_t input_count, const char* const* output_names, size_t output_count,
                         abi::Value** outputs) {
  return announced(session, {options, input_names, inputs, input_count, output_names, output_count}, [=](abi::Session* runs) {
    return watched().api.find(ort::kRun)(runs, options, input_names, inputs, input_count, output_names, output_count, outputs);
  });
}

abi::Status* watched_run_with_binding(abi::Session* session, const abi::RunOptions* options, const abi::IoBinding* binding) {
  return announced(session, {.options = options, .binding = binding},
                   [=](abi::Session* runs) { return watched().api.find(ort::kRunWithBinding)(runs, options, binding); });
}

void watched_release_session(abi::Session* session) {
  WatchedRuntime& runtime = watched();
  WatchedSession ours;
  {
    const std::lock_guard lock(runtime.mutex);
    if (const auto found = runtime.sessions.find(session); found != runtime.sessions.end()) {
      ours = std::move(found->second);
      runtime.sessions.erase(found);
    }
  }
  runtime.api.find(ort::kReleaseSession)(session);
}

abi::Status* watched_set_optimized_path(abi::SessionOptions* options, const char* path) {
  watched().writing.set(options, path != nullptr && *path != '\0');
  return watched().api.find(ort::kSetOptimizedModelFilePath)(options, path);
}

abi::Status* watched_create_env(int32_t level, const char* id, abi::Env** env) {
  abi::Status* status = watched().api.find(ort::kCreateEnv)(level, id, env);
  if (status == nullptr) watched().logging.made(*env, {});
  return status;
}

abi::Status* watched_create_env_with_logger(abi::LoggingFunction* function, void* parameter, int32_t level, const char* id,
                                            abi::Env** env) {
  abi::Status* status = watched().api.find(ort::kCreateEnvWithCustomLogger)(function, parameter, level, id, env);
  if (status == nullptr) watched().logging.made(*env, {function, parameter});
  return status;
}

abi::Status* watched_set_logging_function(abi::SessionOptions* options, abi::LoggingFunction* function, void* parameter) {
  watched().logging.set(options, {function, parameter});
  return watched().api.find(ort::kSetUserLoggingFunction)(options, function, parameter);
}

abi::Status* watched_enable_profiling(abi::SessionOptions* options, const char* prefix) {
  watched().profiling.set(options, true);
  return watched().api.find(ort::kEnableProfiling)(options, prefix);
}

abi::Status* watched_disable_profiling(abi::SessionOptions* options) {
  watched().profiling.set(options, false);
  return watched().api.find(ort::kDisableProfiling)(options);
}

std::array<MarkedOptions*, 3> marks_of_options() { return {&watched().writing, &watched().replacing, &watched().profiling}; }

abi::Status* watched_clone_options(const abi::SessionOptions* options, abi::SessionOptions** copy) {
  abi::Status* status = watched().api.find(ort::kCloneSessionOptions)(options, copy);
  if (status != nullptr || copy == nullptr) return status;
  for (MarkedOptions* marked : marks_of_options()) marked->copy(options, *copy);
  watched().logging.copy(options, *copy);
  return status;
}

abi::Status* watched_add_initializer(abi::SessionOptions* options, const char* name, const abi::Value* value) {
  watched().replacing.set(options, true);
  return watched().api.find(ort::kAddInitializer)(options, name, value);
}

void watched_release_options(abi::SessionOptions* options) {
  for (MarkedOptions* marked : marks_of_options()) marked->set(options, false);
  watched().logging.set(options, {});
  watched().api.find(ort::kReleaseSessionOptions)(options);
}

template <class Signature>
void replace(Table& table, const Function<Signature>& function, Signature* ours) {
  union {
    Signature* code;
    const void* data;
  } pointer{ours};
  table.at(function.slot) = pointer.data;
}

// The length of the real table is stated nowhere.
Result<Table> watched_table(const void* real) {
  const size_t count = std::min(bytes_behind(real) / sizeof(void*), kMostSlots);
  const auto* slots = static_cast<const void* const*>(real);
  Table table(slots, slots + count);
  if (count <= ort::kSetUserLoggingFunction.slot) return internal_error("the table of functions is not where libraries have it");
  replace(table, ort::kCreateEnv, &watched_create_env);
  replace(table, ort::kCreateEnvWithCustomLogger, &watched_create_env_with_logger);
  replace(table, ort::kSetUserLoggingFunction, &watched_set_logging_function);
  replace(table, ort::kEnableProfiling, &watched_enable_profiling);
  replace(table, ort::kDisableProfiling, &watched_disable_profiling);
  replace(table, ort::kCreateSession, &watched_create_session);
  replace(table, ort::kCreateSessionFromArray, &watched_create_from_array);
  replace(table, ort::kCreateSessionWithPrepackedWeights, &watched_create_packed);
  replace(table, ort::kCreateSessionFromArrayWithPrepackedWeights, &watched_create_from_array_packed);
  replace(table, ort::kRun, &watched_run);
  replace(table, ort::kRunWithBinding, &watched_run_with_binding);
  replace(table, ort::kReleaseSession, &watched_release_session);
  replace(table, ort::kSetOptimizedModelFilePath, &watched_set_optimized_path);
  replace(table, ort::kCloneSessionOptions, &watched_clone_options);
  replace(table, ort::kAddInitializer, &watched_add_initializer);
  replace(table, ort::kReleaseSessionOptions, &watched_release_options);
  return table;
}

const void* watched_get_api(uint32_t version) {
  const WatchedRuntime& runtime = watched();
  const void* table = runtime.real->get_api(version);
  return table == runtime.real_table ? runtime.table.data() : table;
}

const char* watched_get_version() { return watched().real->get_version_string(); }

// fork() may come while another thread holds the lock; a child that goes on to run needs it.
void follow_forks() {
  pthread_atfork([] { watched().mutex.lock(); }, [] { watched().mutex.unlock(); }, [] { new (&watched().mutex) std::mutex; });
}

Status watch(const abi::ApiBase* real) {
  auto runtime = std::make_unique<WatchedRuntime>();
  runtime->real = real;
  runtime->version = real->get_version_string();
  TENSORTAP_ASSIGN_OR_RETURN(runtime->api, newest_api(*real, "the program's ONNX Runtime"));
  runtime->real_table = real->get_api(static_cast<uint32_t>(runtime->api.release()));
  TENSORTAP_ASSIGN_OR_RETURN(runtime->table, watched_table(runtime->real_table));
  TENSORTAP_ASSIGN_OR_RETURN(runtime->operators, TapOperators::create_for_published(runtime->api));
  runtime->base = {&watched_get_api, &watched_get_version};
  set_watched_base(&runtime->base, real);
  the_watched.store(runtime.release(), std::memory_order_release);
  follow_forks();
  return {};
}

}  // namespace

const abi::ApiBase* watch_runtime(const abi::ApiBase* real) noexcept {
  static std::mutex mutex;
  try {
    const std::lock_guard lock(mutex);
    if (the_watched.load() != nullptr) return watched().real == real ? &watched().base : real;
    if (ExecCapture::of_process() == nullptr) return real;
    const Status status = watch(real);
    if (status.ok()) return &watched().base;
    say(concat("ONNX Runtime runs uncaptured: ", status.message()));
  } catch (...) {
    return real;
  }
  return real;
}

Status set_dump_of_session(const void* session, std::string_view name, bool enabled) {
  if (the_watched.load(std::memory_order_acquire) == nullptr) return {};
  WatchedRuntime& runtime = watched();
  std::shared_ptr<ForeignSession> captured;
  {
    const std::lock_guard lock(runtime.mutex);
    const auto found = runtime.sessions.find(static_cast<const abi::Session*>(session));
    if (found == runtime.sessions.end()) return invalid_argument("this is no session that the program made with ONNX Runtime");
    captured = found->second.captured;
  }
  return captured == nullptr ? Status() : captured->set_dump(name, enabled);
}

}  // namespace tensortap::onnxruntime
