#include "source/onnxruntime/watched_runtime.h"

#include <pthread.h>
#include <unistd.h>

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
#include "source/onnxruntime/channel_block.h"
#include "source/onnxruntime/exec_capture.h"
#include "source/onnxruntime/foreign_session.h"
#include "source/onnxruntime/loaded_segment.h"
#include "source/onnxruntime/model_file.h"
#include "source/onnxruntime/plain_twin.h"
#include "source/onnxruntime/program_options.h"
#include "source/onnxruntime/repeated_run.h"

namespace tensortap::onnxruntime {
namespace {

using Table = std::vector<const void*>;

constexpr size_t kMostSlots = 4096;

// A session of the program, with what its runs use besides.
struct WatchedSession {
  std::shared_ptr<ForeignSession> captured;  // null = runs plain
  std::shared_ptr<abi::Session> twin;        // null = none
};

struct WatchedRuntime {
  const abi::ApiBase* real = nullptr;
  const void* real_table = nullptr;
  abi::ApiBase base{};
  Api api;
  std::string version;
  Table table;
  std::unique_ptr<TapOperators> operators;
  MarkedOptions writing;    // the optimised model into a file
  MarkedOptions replacing;  // weights of the model
  std::mutex mutex;
  std::unordered_map<const abi::Session*, WatchedSession> sessions;  // guarded by mutex
};

constinit std::atomic<WatchedRuntime*> the_watched{nullptr};

// For the functions of the table, which no one has before the runtime is watched.
WatchedRuntime& watched() { return *the_watched.load(std::memory_order_acquire); }

// How the program asked for its session. One of path and data is null.
struct SessionCall {
  const abi::Env* env;
  const char* path;
  const void* data;
  size_t size;
  const abi::SessionOptions* options;
  abi::PrepackedWeights* packed;
};

abi::Status* create(const Api& api, const SessionCall& call, abi::Session** session) {
  if (call.path != nullptr && call.packed != nullptr)
    return api.find(ort::kCreateSessionWithPrepackedWeights)(call.env, call.path, call.options, call.packed, session);
  if (call.path != nullptr) return api.find(ort::kCreateSession)(call.env, call.path, call.options, session);
  if (call.packed != nullptr)
    return api.find(ort::kCreateSessionFromArrayWithPrepackedWeights)(call.env, call.data, call.size, call.options, call.packed, session);
  return api.find(ort::kCreateSessionFromArray)(call.env, call.data, call.size, call.options, session);
}

class CSessionMaker final : public SessionMaker {
 public:
  CSessionMaker(WatchedRuntime& runtime, const SessionCall& call) : runtime_(runtime), call_(call) {}
  CSessionMaker(const CSessionMaker&) = delete;
  CSessionMaker& operator=(const CSessionMaker&) = delete;
  ~CSessionMaker() override = default;

  Status optimise(int32_t level, const PassFiles& files) override {
    if (runtime_.replacing.has(call_.options)) return unsupported("the program replaces weights of the model (AddInitializer)");
    TENSORTAP_ASSIGN_OR_RETURN(const auto options, options_for_pass(runtime_.api, call_.options, level, files));
    SessionCall pass = call_;
    pass.options = options.get();
    pass.packed = nullptr;
    return make(pass).status();
  }

  Status load(std::string_view tapped, const std::string& folder) override {
    TENSORTAP_ASSIGN_OR_RETURN(const auto options, options_for_taps(runtime_.api, call_.options, folder, runtime_.operators->domain()));
    const SessionCall edited{call_.env, nullptr, tapped.data(), tapped.size(), options.get(), call_.packed};
    TENSORTAP_ASSIGN_OR_RETURN(session_, make(edited));
    return {};
  }

  Status load_twin(std::string_view executed, const std::string& folder) override {
    TENSORTAP_ASSIGN_OR_RETURN(const auto options, options_for_taps(runtime_.api, call_.options, folder, runtime_.operators->domain()));
    // A profile is the other session's.
    TENSORTAP_RETURN_IF_ERROR(runtime_.api.call(ort::kDisableProfiling, options.get()));
    const SessionCall plain{call_.env, nullptr, executed.data(), executed.size(), options.get(), call_.packed};
    TENSORTAP_ASSIGN_OR_RETURN(twin_, make(plain));
    return {};
  }

  Result<uint32_t> channel_block() override { return channel_block_of(RuntimeLibrary::borrow(runtime_.api, call_.env, runtime_.version)); }

  // What load() and load_twin() made.
  abi::Session* release() { return session_.release(); }
  std::shared_ptr<abi::Session> take_twin() { return std::move(twin_); }

 private:
  Result<Owned<abi::Session>> make(const SessionCall& call) {
    abi::Session* raw = nullptr;
    TENSORTAP_RETURN_IF_ERROR(runtime_.api.check(create(runtime_.api, call, &raw)));
    return runtime_.api.own(ort::kReleaseSession, raw);
  }

  WatchedRuntime& runtime_;
  const SessionCall& call_;
  Owned<abi::Session> session_;
  Owned<abi::Session> twin_;
};

// A model in a file is read here as the runtime reads it; errors of the file are the runtime's to report.
class GivenModel {
 public:
  GivenModel(const SessionCall& call, const std::string& runtime) {
    model_.runtime = runtime;
    if (call.path == nullptr) {
      model_.bytes = {static_cast<const char*>(call.data), call.data == nullptr ? 0 : call.size};
      return;
    }
    model_.path = call.path;
    file_ = ModelFile::open(call.path);
    if (!file_->ok()) return;
    model_.file = &**file_;
    model_.bytes = (*file_)->bytes();
    model_.folder = (*file_)->folder();
  }
  [[nodiscard]] const ForeignModel& model() const { return model_; }

 private:
  std::optional<Result<ModelFile>> file_;
  ForeignModel model_;
};

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
    const GivenModel given(call, runtime.version);
    Uncaptured why;
    *session = ExecCapture::of_process() == nullptr ? nullptr : make_watched(runtime, call, given.model(), why);
    if (*session != nullptr) return nullptr;
    abi::Status* status = create(runtime.api, call, session);
    if (status != nullptr) return status;
    remember(runtime, *session, {});
    account_for_uncaptured(given.model(), why);
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
// program's own session. The capture's own trouble is none of the program's.
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

abi::Status* watched_clone_options(const abi::SessionOptions* options, abi::SessionOptions** copy) {
  abi::Status* status = watched().api.find(ort::kCloneSessionOptions)(options, copy);
  if (status != nullptr || copy == nullptr) return status;
  for (MarkedOptions* marked : {&watched().writing, &watched().replacing}) marked->copy(options, *copy);
  return status;
}

abi::Status* watched_add_initializer(abi::SessionOptions* options, const char* name, const abi::Value* value) {
  watched().replacing.set(options, true);
  return watched().api.find(ort::kAddInitializer)(options, name, value);
}

void watched_release_options(abi::SessionOptions* options) {
  for (MarkedOptions* marked : {&watched().writing, &watched().replacing}) marked->set(options, false);
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
  if (count <= ort::kHasValue.slot) return internal_error("the table of functions is not where libraries have it");
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

const abi::ApiBase* unwatched(const abi::ApiBase* base) noexcept {
  const WatchedRuntime* runtime = the_watched.load(std::memory_order_acquire);
  return runtime != nullptr && base == &runtime->base ? runtime->real : base;
}

}  // namespace tensortap::onnxruntime
