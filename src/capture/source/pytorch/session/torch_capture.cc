#include "source/pytorch/session/torch_capture.h"

#include <pthread.h>
#include <tensortap/asking.h>

#include <cstdlib>
#include <mutex>

#include "base/coverage_reasons.h"
#include "base/text.h"
#include "base/wait.h"
#include "exec/exec_request.h"
#include "source/pytorch/device/device_kernels.h"
#include "source/pytorch/identity/device_graphs.h"
#include "source/pytorch/identity/module_table.h"
#include "source/pytorch/python/python_bridge.h"

namespace tensortap::pytorch {
namespace {

std::atomic<TorchCapture*> active{nullptr};
// Threads that are between enter_capture() and leave_capture().
std::atomic<int> inside{0};
std::mutex opening;
// In a child of fork(): the capture of its parent, until the child runs an operator.
std::atomic<TorchCapture*> parents{nullptr};

// The parent's session counts the processes that run what it does not capture.
void tell_of_fork() {
  if (parents.load(std::memory_order_relaxed) == nullptr) return;
  if (TorchCapture* capture = parents.exchange(nullptr)) tensortap_step_begin(capture->session, 0, 0);
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

// Reports operators that were not seen as one op that was not captured.
void account_for_unseen(tensortap_session* session, const std::string& name, const char* type, std::string_view reason) {
  tensortap_op described{};
  described.size = sizeof described;
  described.name = name.c_str();
  described.type = type;
  described.parent = TENSORTAP_NO_OP;
  tensortap_not_captured(session, tensortap_register_op(session, &described), reason.data());
}

void account_for_compiled_graphs(tensortap_session* session) {
  const uint64_t graphs = compiled_graphs();
  if (graphs == 0) return;
  const std::string name = concat("torch.compile (", graphs, graphs == 1 ? " graph)" : " graphs)");
  account_for_unseen(session, name, "CompiledGraph", kReasonFused);
}

std::string text_of(const ReplayedGraph& graph, size_t number) {
  const std::string operators = graph.operators == 0 ? "an unknown number of ops" : concat(graph.operators, " ops");
  return concat("device graph ", number, ": ", operators, " x ", graph.replays, graph.replays == 1 ? " replay" : " replays");
}

// Replays ran their kernels without an operator.
void account_for_replays(tensortap_session* session) {
  size_t number = 0;
  std::vector<std::string> counts;
  for (const ReplayedGraph& graph : replayed_graphs()) {
    account_for_unseen(session, text_of(graph, ++number), "DeviceGraph", kReasonReplayed);
    counts.push_back(
        concat("{\"ops\": ", graph.operators == 0 ? "null" : std::to_string(graph.operators), ", \"replays\": ", graph.replays, "}"));
  }
  if (!counts.empty()) tensortap_add_fact(session, "device_graphs", concat("[", join(counts, ", "), "]").c_str());
}

void tell_facts(tensortap_session* session) {
  const std::lock_guard lock(torch_runtime().facts_mutex);
  for (const auto& [name, json] : torch_runtime().facts) tensortap_add_fact(session, name.c_str(), json.c_str());
}

// Reports the current number: the program may have changed it since the capture began.
void tell_threads(tensortap_session* session) {
  const int threads = torch_runtime().number_of_threads == nullptr ? 0 : torch_runtime().number_of_threads();
  if (threads > 0) tensortap_add_fact(session, "threads", std::to_string(threads).c_str());
}

}  // namespace

void add_fact(const char* name, const char* json) {
  {
    const std::lock_guard lock(torch_runtime().facts_mutex);
    torch_runtime().facts.insert_or_assign(name, json);
  }
  const EnteredCapture capture;
  if (capture) tensortap_add_fact(capture->session, name, json);
}

bool names_groups() {
  const tensortap_torch_adapter& adapter = torch_runtime().adapter;
  return adapter.define_operators != nullptr && adapter.define_operators() == 0;
}

TorchCapture::TorchCapture(tensortap_session* opened, TorchRuntime& given)
    : TorchSession(opened, given, on_step, this),
      shows_reads(tensortap_wants_reads(opened) != 0),
      shows_reads_after(tensortap_wants_reads_after(opened) != 0),
      wants_moves(!shows_reads || (static_cast<uint32_t>(tensortap_wants_reads(opened)) & TENSORTAP_WANTS_PASSED_ON) != 0),
      wants_arguments(tensortap_wants_arguments(opened) != 0) {}

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
  if (active.load(std::memory_order_relaxed) == nullptr) {
    tell_of_fork();
    return nullptr;
  }
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
  tensortap_session_options options{};
  options.config = config;
  options.config_name = config_name;
  options.program = program.c_str();
  const std::string model = model_of_program(program);
  options.model = model.c_str();
  options.flags =
      TENSORTAP_SESSION_KERNELS | TENSORTAP_SESSION_MODULES | (torch_runtime().content_cache ? 0U : TENSORTAP_SESSION_CONTENT_UNKNOWN);
  TENSORTAP_ASSIGN_OR_RETURN(tensortap_session * session, open_session(options, torch_runtime()));
  tell_facts(session);
  DeviceKernels::get().resume();
  auto* capture = new TorchCapture(session, torch_runtime());
  choose_step_modules(tensortap_has_step_modules(session) != 0);
  active.store(capture);
  capture->steps.begin();
  return {};
}

Status close_capture(std::string* report) {
  const std::lock_guard lock(opening);
  // Results of collectives are reported while the capture is still open.
  if (active.load() != nullptr) torch_runtime().adapter.observe(0, 1);
  TorchCapture* capture = active.exchange(nullptr);
  if (capture == nullptr) return {};
  capture->runtime.adapter.observe(0, 1);
  DeviceKernels::get().finish();
  const bool all_left = wait_for_zero(inside);
  capture->steps.end();
  account_for_compiled_graphs(capture->session);
  account_for_replays(capture->session);
  tell_threads(capture->session);
  for (const std::string& sentence : capture->identities.requests_in_vain()) tensortap_note(capture->session, sentence.c_str());
  char* text = nullptr;
  const int code = all_left ? tensortap_session_end(capture->session, &text) : 0;
  // Flushes.
  if (!all_left) text = tensortap_session_report(capture->session);
  if (report != nullptr) *report = text == nullptr ? "{}" : text;
  tensortap_free(text);
  if (!all_left) return internal_error("a thread did not leave the capture; the dump lacks its end (tensortap repair)");
  return Status(static_cast<StatusCode>(code), "the dump is not complete; its run.json lists what is missing");
}

void discard_capture() {
  const std::lock_guard lock(opening);
  TorchCapture* capture = active.exchange(nullptr);
  if (capture == nullptr) return;
  capture->runtime.adapter.observe(0, capture->levels);
  // A thread that stays inside keeps its session.
  if (wait_for_zero(inside)) tensortap_session_discard(capture->session);
}

bool capture_is_open() { return active.load() != nullptr; }

void drop_capture_after_fork() {
  if (TorchCapture* const capture = active.exchange(nullptr)) parents.store(capture);
  inside.store(0);
}

void leave_fork_alone() { parents.store(nullptr); }

}  // namespace tensortap::pytorch
