#include "source/onnxruntime/program/exec_capture.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include "base/files.h"
#include "base/job_rank.h"
#include "base/text.h"

namespace tensortap::onnxruntime {
namespace {

// The capture of the process, and the lock for reading the request once. A child of fork() recreates both, since another thread may have
// held the lock.
constinit std::atomic<ExecCapture*> process_capture{nullptr};
constinit std::atomic<bool> request_read{false};
constinit std::mutex request_mutex;

std::string stem_of(const std::string& path) {
  const std::string name(file_name(path));
  const size_t dot = name.rfind('.');
  if (name.empty()) return "memory";
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

Status status_from(int code, const char* message) { return {static_cast<StatusCode>(code), message}; }

}  // namespace

ExecCapture* ExecCapture::of_process() {
  if (request_read.load(std::memory_order_acquire)) return process_capture.load(std::memory_order_acquire);
  const std::lock_guard lock(request_mutex);
  if (request_read.load(std::memory_order_acquire)) return process_capture.load(std::memory_order_acquire);
  if (std::optional<ExecRequest> request = read_exec_request(); request.has_value()) {
    static const bool followed = [] {
      pthread_atfork(nullptr, nullptr, begin_anew_after_fork);
      std::atexit(close_at_exit);
      return true;
    }();
    static_cast<void>(followed);
    process_capture.store(new ExecCapture(*std::move(request)), std::memory_order_release);
  }
  request_read.store(true, std::memory_order_release);
  return process_capture.load(std::memory_order_acquire);
}

// The parent keeps the dumps. Their remains in the child are never freed, since runs in progress may hold them.
void ExecCapture::begin_anew_after_fork() {
  new (&request_mutex) std::mutex;
  process_capture.store(nullptr);
  request_read.store(false);
}

void ExecCapture::close_at_exit() {
  ExecCapture* capture = process_capture.load(std::memory_order_acquire);
  if (capture == nullptr) return;
  const std::lock_guard lock(capture->mutex_);
  for (const Known& known : capture->known_) known.dump->close();
}

Status ExecCapture::choose_place() {
  if (!process_folder_.empty()) return {};
  process_folder_ = request_.shared_tree ? request_.out : process_folder(request_);
  return {};
}

Result<OwnedSession> ExecCapture::open_session(const DumpRequest& request) {
  const std::string model = stem_of(request.model);
  const std::string folder = process_folder_used_ ? model_folder(request_, process_folder_, model) : process_folder_;
  TENSORTAP_ASSIGN_OR_RETURN(const std::string config, config_with_folder(request_, folder));
  const std::string source = concat("onnxruntime ", request.runtime);
  const JobRank rank = job_rank();
  tensortap_session_options options{};
  options.size = sizeof(options);
  options.version = TENSORTAP_CAPTURE_VERSION;
  options.config = config.c_str();
  options.config_name = request_.config_name.c_str();
  options.source = source.c_str();
  options.program = request_.program.c_str();
  options.rank = rank.rank;
  options.world_size = rank.world_size;
  options.flags = TENSORTAP_SESSION_AFTER_ONLY;
  options.model = model.c_str();
  options.model_id = static_cast<uint32_t>(known_.size() + 1);
  tensortap_session* session = nullptr;
  std::array<char, 4096> message{};
  const int code = tensortap_session_open(&options, &session, message.data(), message.size());
  if (code != TENSORTAP_OK) return status_from(code, message.data());
  add_facts(session, request.facts);
  return OwnedSession(session);
}

Result<std::shared_ptr<ModelDump>> ExecCapture::dump_of(const OpTable& ops, const DumpRequest& request) {
  const std::lock_guard lock(mutex_);
  for (const Known& known : known_) {
    const bool same = known.model == request.model && known.runtime == request.runtime && known.weights == request.weights;
    if (same && known.dump->has_ops(ops)) return known.dump;
  }
  TENSORTAP_RETURN_IF_ERROR(choose_place());
  TENSORTAP_ASSIGN_OR_RETURN(OwnedSession session, open_session(request));
  const BlockedGraph plain;
  const BlockedGraph& blocks = request.blocks == nullptr ? plain : *request.blocks;
  auto dump = ModelDump::create(std::move(session), ops, blocks);
  std::array<char, 4096> message{};
  if (const int code = tensortap_bind(dump->session(), message.data(), message.size()); code != TENSORTAP_OK) {
    dump->close();
    return status_from(code, message.data());
  }
  if (request.sends_weights) dump->send_weights(ops, blocks, request.weights_folder, AuthorWeights(request.author, request.author_folder));
  process_folder_used_ = true;
  known_.push_back({request.model, request.runtime, request.weights, dump});
  return dump;
}

}  // namespace tensortap::onnxruntime
