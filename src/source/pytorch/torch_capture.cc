#include "source/pytorch/torch_capture.h"

#include <pthread.h>
#include <sched.h>

#include <array>
#include <cstdlib>
#include <mutex>

#include "base/clock.h"
#include "base/job_rank.h"
#include "base/text.h"
#include "exec/exec_request.h"
#include "source/pytorch/python_bridge.h"

namespace tensortap::pytorch {
namespace {

std::atomic<TorchCapture*> active{nullptr};
// Threads that are between enter_capture() and leave_capture().
std::atomic<int> inside{0};
std::mutex opening;

constexpr int64_t kLongestWait = 2'000'000'000;  // ns, for threads to leave at the end

bool wait_until_all_left() {
  const int64_t begin = monotonic_ns();
  while (inside.load(std::memory_order_seq_cst) != 0) {
    if (monotonic_ns() - begin > kLongestWait) return false;
    sched_yield();
  }
  return true;
}

void close_at_exit() { static_cast<void>(close_capture(nullptr)); }

void follow_process() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, drop_capture_after_fork);
    std::atexit(close_at_exit);
  });
}

void on_step(void* context, bool wanted) {
  auto& capture = *static_cast<TorchCapture*>(context);
  capture.step_wanted.store(wanted);
  capture.observe();
}

// What ran in compiled graphs never came by: it is accounted for as one op that was not captured.
void account_for_compiled_graphs(tensortap_session* session) {
  const uint64_t graphs = compiled_graphs();
  if (graphs == 0) return;
  const std::string name = concat("torch.compile (", graphs, graphs == 1 ? " graph)" : " graphs)");
  tensortap_op described{};
  described.size = sizeof described;
  described.name = name.c_str();
  described.type = "CompiledGraph";
  described.parent = TENSORTAP_NO_OP;
  tensortap_not_captured(session, tensortap_register_op(session, &described),
                         "kernels fused by torch.compile; exec --compile captures ops");
}

Status from_session(int code, const char* message) { return Status(static_cast<StatusCode>(code), message); }

}  // namespace

TorchCapture::TorchCapture(tensortap_session* opened, TorchRuntime& given)
    : TorchSession(opened, given, on_step, this),
      shows_reads(tensortap_wants_reads(opened) != 0),
      wants_moves(!shows_reads || (static_cast<uint32_t>(tensortap_wants_reads(opened)) & TENSORTAP_WANTS_PASSED_ON) != 0) {}

void TorchCapture::observe() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const bool wanted = enabled.load() && (step_wanted.load() || traced.is_tracing() || !runtime.bootstrapped.load());
  if (observing.exchange(wanted) == wanted) return;
  if (wanted) {
    storages.lose_sight();
  } else {
    storages.let_go_of_all();
  }
  // Steps and memory are followed by the operators, whatever is captured.
  const uint32_t callbacks = levels & ~kModuleLevels;
  runtime.adapter.observe(wanted ? 1 : 0, callbacks == 0 ? 1U << TENSORTAP_LEVEL_OP : callbacks);
}

TorchCapture* enter_capture() {
  if (active.load(std::memory_order_relaxed) == nullptr) return nullptr;
  inside.fetch_add(1, std::memory_order_seq_cst);
  TorchCapture* capture = active.load(std::memory_order_seq_cst);
  if (capture == nullptr) inside.fetch_sub(1, std::memory_order_release);
  return capture;
}

void leave_capture() { inside.fetch_sub(1, std::memory_order_release); }

Status open_capture(const char* config, const char* config_name, const std::string& program) {
  const std::lock_guard lock(opening);
  if (active.load() != nullptr) return invalid_argument("a capture is open in this process already; end it first");
  follow_process();
  const JobRank rank = job_rank();
  const std::string source = concat("pytorch ", torch_runtime().adapter.torch_version);
  tensortap_session_options options{};
  options.size = sizeof options;
  options.version = TENSORTAP_CAPTURE_VERSION;
  options.config = config;
  options.config_name = config_name;
  options.source = source.c_str();
  options.program = program.c_str();
  const std::string model = model_of_program(program);
  options.model = model.c_str();
  options.rank = rank.rank;
  options.world_size = rank.world_size;
  options.flags =
      TENSORTAP_SESSION_KERNELS | TENSORTAP_SESSION_MODULES | (torch_runtime().content_cache ? 0U : TENSORTAP_SESSION_CONTENT_UNKNOWN);
  tensortap_session* session = nullptr;
  std::array<char, 2000> message{};
  const int code = tensortap_session_open(&options, &session, message.data(), message.size());
  if (code != TENSORTAP_OK) return from_session(code, message.data());
  auto* capture = new TorchCapture(session, torch_runtime());
  active.store(capture);
  capture->steps.begin();
  return {};
}

Status close_capture(std::string* report) {
  const std::lock_guard lock(opening);
  TorchCapture* capture = active.exchange(nullptr);
  if (capture == nullptr) return {};
  capture->runtime.adapter.observe(0, 1);
  const bool all_left = wait_until_all_left();
  capture->steps.end();
  account_for_compiled_graphs(capture->session);
  if (report != nullptr) {
    char* text = tensortap_session_report(capture->session);
    *report = text == nullptr ? "{}" : text;
    tensortap_free(text);
  }
  if (!all_left) {
    static_cast<void>(tensortap_session_flush(capture->session));
    return internal_error("a thread did not leave the capture; the dump lacks its end (tensortap repair)");
  }
  return from_session(tensortap_session_close(capture->session), "the dump is not complete; its run.json says what is missing");
}

void discard_capture() {
  const std::lock_guard lock(opening);
  TorchCapture* capture = active.exchange(nullptr);
  if (capture == nullptr) return;
  capture->runtime.adapter.observe(0, capture->levels);
  // A thread that stays inside keeps its session.
  if (wait_until_all_left()) tensortap_session_discard(capture->session);
}

bool capture_is_open() { return active.load() != nullptr; }

void drop_capture_after_fork() {
  active.store(nullptr);
  inside.store(0);
}

}  // namespace tensortap::pytorch
