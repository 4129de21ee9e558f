#include "source/atb/dump.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <utility>

#include "base/environment.h"
#include "base/files.h"
#include "base/job_rank.h"
#include "base/message.h"
#include "base/text.h"
#include "base/wait.h"
#include "format/msit_bin/execution_table.h"
#include "source/atb/tensor_text.h"

namespace tensortap::atb {
namespace {

constexpr uint64_t kKeptFree = uint64_t{2} << 30;
constexpr const char* kKernel = "Kernel";
constexpr std::string_view kTensors = "tensors";

// The dump of a process, null where there is none. Never freed: a thread may be inside when another process is found to be this one.
struct OfProcess {
  pid_t process = 0;
  Dump* dump = nullptr;
};
std::atomic<const OfProcess*> current{nullptr};
std::atomic<int> inside{0};
std::mutex* opening = new std::mutex;  // a new one in each child: another thread of the parent may have held it

std::string real_path(const std::string& path) {
  std::array<char, PATH_MAX> real{};
  return realpath(path.c_str(), real.data()) == nullptr ? path : std::string(real.data());
}

// What is asked with tensortap_would_keep().
tensortap_question question_about(uint32_t flags) {
  tensortap_question question{};
  question.size = sizeof question;
  question.flags = flags;
  return question;
}

}  // namespace

Dump::Dump(DumpRequest request, tensortap_session* session)
    : request_(std::move(request)),
      session_(session),
      process_(to_text(int64_t{getpid()})),
      folder_(concat(real_path(request_.out), "/msit_dump_", request_.time)) {}

Dump* Dump::open() {
  Result<std::optional<DumpRequest>> request = read_dump_request();
  if (!request.ok()) {
    say(concat("nothing is dumped: ", request.status().message()));
    return nullptr;
  }
  if (!request->has_value()) return nullptr;
  const JobRank rank = job_rank();
  std::string digits = (*request)->time;
  std::erase(digits, '_');
  tensortap_session_options options{};
  options.size = sizeof options;
  options.version = TENSORTAP_CAPTURE_VERSION;
  options.config = (*request)->config.c_str();
  options.config_name = (*request)->config_name.c_str();
  options.source = "atb";
  options.program = (*request)->program.c_str();
  options.rank = rank.rank;
  options.world_size = rank.world_size;
  options.flags = TENSORTAP_SESSION_ASKS | TENSORTAP_SESSION_KERNELS | TENSORTAP_SESSION_MODULES | TENSORTAP_SESSION_CONTENT_UNKNOWN;
  options.timestamp = digits.c_str();
  tensortap_session* session = nullptr;
  std::array<char, 2000> message{};
  if (tensortap_session_open(&options, &session, message.data(), message.size()) != TENSORTAP_OK) {
    say(concat("nothing is dumped: ", message.data()));
    return nullptr;
  }
  return new Dump(**std::move(request), session);
}

void Dump::close_at_exit() {
  const OfProcess* there = current.load(std::memory_order_acquire);
  if (there == nullptr || there->process != getpid() || there->dump == nullptr) return;
  // Threads that still run find nothing from now on.
  current.store(new OfProcess{there->process, nullptr}, std::memory_order_seq_cst);
  const bool all_left = wait_for_zero(inside);
  (void)tensortap_session_flush(there->dump->session_);
  // A thread that stays inside keeps its session; the dump lacks its end then.
  if (all_left) tensortap_session_close(there->dump->session_);
}

Dump::InUse::InUse() : dump_(nullptr) {
  (void)of_process();
  inside.fetch_add(1, std::memory_order_seq_cst);
  const OfProcess* there = current.load(std::memory_order_seq_cst);
  dump_ = there == nullptr ? nullptr : there->dump;
}

Dump::InUse::~InUse() { inside.fetch_sub(1, std::memory_order_release); }

Dump* Dump::of_process() {
  const pid_t process = getpid();
  const OfProcess* there = current.load(std::memory_order_acquire);
  if (there != nullptr && there->process == process) return there->dump;
  static const int kWatched = pthread_atfork(nullptr, nullptr, [] {
    opening = new std::mutex;
    inside.store(0);
  });
  static const int kRegistered = std::atexit(&Dump::close_at_exit);
  (void)kWatched;
  (void)kRegistered;
  const std::lock_guard lock(*opening);
  there = current.load(std::memory_order_acquire);
  if (there != nullptr && there->process == process) return there->dump;
  current.store(new OfProcess{process, open()}, std::memory_order_release);
  return current.load(std::memory_order_acquire)->dump;
}

bool Dump::selects_operation(std::span<const int64_t> ids, std::string_view type) {
  // The program keeps this answer; a config that changes later decides by folders.
  if (request_.follows) return true;
  if (!wishes(Wish::kTensors)) return false;
  std::string id;
  for (const int64_t number : ids) id += concat(id.empty() ? "" : "_", number);
  const std::string name(type);
  tensortap_question question = question_about(TENSORTAP_QUESTION_OP);
  question.id = id.c_str();
  question.type = name.c_str();
  return keeps(question);
}

bool Dump::selects_folder(std::string_view folder) { return follows_into(folder, 0); }

bool Dump::selects_parameters(std::string_view folder) { return follows_into(folder, TENSORTAP_QUESTION_STEP); }

bool Dump::follows_into(std::string_view folder, uint32_t also) {
  if (!request_.follows) return true;
  const std::optional<FolderPath> path = parse_folder_path(folder);
  if (!path) return false;
  const PathOperation& last = path->operations.back();
  const std::string type(last.type);
  tensortap_question question = question_about(TENSORTAP_QUESTION_OP | TENSORTAP_QUESTION_DEVICE | also);
  question.id = last.id.c_str();
  question.type = type.c_str();
  question.device = path->device;
  question.step = path->round;
  return keeps(question);
}

bool Dump::selects_execution(uint64_t count) {
  tensortap_question question = question_about(TENSORTAP_QUESTION_STEP);
  question.step = static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX));
  return keeps(question);
}

void Dump::look_at_config() {
  if (request_.follows) (void)keeps(question_about(0));
}

tensortap_op_id Dump::op_of(const FolderPath& folder) {
  const std::lock_guard lock(mutex_);
  tensortap_op_id parent = TENSORTAP_NO_OP;
  const std::string process(folder.process);
  for (const PathOperation& operation : folder.operations) {
    const std::string key = concat(process, "/", operation.path);
    if (const auto found = ops_.find(key); found != ops_.end()) {
      parent = found->second;
      continue;
    }
    if (ops_.size() >= kMostOperations) return TENSORTAP_NO_OP;
    const std::string type(operation.type);
    const std::string name = concat(type, "_", operation.id);
    tensortap_op op{};
    op.size = sizeof op;
    op.level = type.ends_with(kKernel) ? TENSORTAP_LEVEL_KERNEL : TENSORTAP_LEVEL_MODULE;
    op.name = name.c_str();
    op.type = type.c_str();
    op.graph = process.c_str();
    op.parent = parent;
    op.id = operation.id.c_str();
    parent = tensortap_register_op(session_, &op);
    ops_.emplace(key, parent);
  }
  return parent;
}

// As in the real library. The session counts the data that wait in memory.
bool Dump::has_disk_room(uint64_t bytes) {
  const Result<uint64_t> free = free_disk_bytes(request_.out);
  if (!free.ok() || (*free > kKeptFree && *free / 2 > bytes)) return true;
  if (!full_disk_said_.exchange(true)) {
    const std::string_view clause = *free > kKeptFree ? " and twice size of data" : "";
    say(concat("Disk space is not enough, it's must more than 2G", clause, ", free size(MB) is: ", *free >> 20));
  }
  return false;
}

void Dump::save_tensor(const ToldTensor& told, const void* data, uint64_t bytes) {
  const std::optional<TensorPath> path = parse_tensor_path(told.path);
  if (!path) {
    tensortap_note(session_, "tensors with a path that is none of ATB's were not captured");
    return;
  }
  tensortap_question question = question_about(TENSORTAP_QUESTION_DEVICE);
  question.device = path->folder.device;
  if (!keeps(question)) return;
  const Result<TensorFacts> facts = tensor_facts(told, bytes);
  std::string obstacle = facts.status().message();
  if (facts.ok() && data == nullptr && wishes(Wish::kData)) obstacle = "no elements, which were asked for";
  if (obstacle.empty() && !has_disk_room(bytes)) obstacle = "no room on the disk";
  if (!obstacle.empty()) tensortap_note(session_, concat("tensors were left out, which \"losses\" counts: ", obstacle).c_str());
  tensortap_tensor tensor{};
  tensor.size = sizeof tensor;
  // Without dimensions the session counts it as lost, where it was wanted.
  tensor.rank = 1;
  if (obstacle.empty()) {
    tensor.dtype = facts->type;
    tensor.data = data;
    tensor.dims = facts->dims.data();
    tensor.rank = static_cast<uint32_t>(facts->dims.size());
    tensor.flags = facts->order;
  }
  give(*path, tensor);
}

void Dump::give(const TensorPath& path, tensortap_tensor& tensor) {
  const std::string parameter(path.parameter);
  tensor.slot_kind = path.is_input ? TENSORTAP_SLOT_INPUT : TENSORTAP_SLOT_OUTPUT;
  tensor.slot_index = path.slot;
  tensor.name = parameter.empty() ? nullptr : parameter.c_str();
  tensor.element = -1;
  tensortap_op_event event{};
  event.size = sizeof event;
  event.op = op_of(path.folder);
  event.step = path.folder.round;
  event.moment = path.before ? TENSORTAP_MOMENT_BEFORE : TENSORTAP_MOMENT_AFTER;
  event.duration_ns = -1;
  event.tensors = &tensor;
  event.tensor_count = 1;
  event.call = 1;
  tensortap_on_op(session_, &event);
}

void Dump::write(const std::string& path, std::string_view content, uint32_t flags) {
  tensortap_document document{};
  document.size = sizeof document;
  document.flags = flags;
  document.path = path.c_str();
  document.data = content.data();
  document.bytes = content.size();
  if (tensortap_add_document(session_, &document) == TENSORTAP_UNSUPPORTED) {
    tensortap_note(session_, "files beside the tensors (parameters, tables, topology) were left out: this layout cannot store them");
  }
}

void Dump::save_document(std::string_view path, std::string_view content) { write(std::string(path), content); }

// With --type onnx msit converts the files that this list names, and removes it.
void Dump::list_for_msit(const std::string& path) {
  const std::optional<std::string> folder = environment_value("ATB_DUMP_SUB_PROC_INFO_SAVE_PATH");
  if (!folder || !is_directory(*folder)) return;
  const std::string line = path + "\n";
  Result<File> list = File::open(join_path(*folder, "subprocess_info.txt"), O_WRONLY | O_APPEND | O_CREAT, Access::kShared);
  if (list.ok() && ::write(list->fd(), line.data(), line.size()) < 0)
    tensortap_note(session_, "a file of topology is not in the list for msit");
}

void Dump::write_topology(std::string_view folder, const std::string& name, const std::string& text) {
  const std::string path = concat(folder, "/", process_, "/", name, ".json");
  write(path, text + "\n");
  list_for_msit(concat(folder_, "/", path));
}

void Dump::report_graph(std::string_view operation, std::string_view graph) {
  const std::lock_guard lock(mutex_);
  const Result<std::string> text = graphs_.add_operation(operation, graph);
  if (!text.ok()) return tensortap_note(session_, text.status().message().c_str());
  write_topology("layer", std::string(operation), *text);
}

bool Dump::wants_model(std::string_view model) {
  if (!wishes(Wish::kModels)) return false;
  const std::lock_guard lock(mutex_);
  return models_.find(model) == models_.end();
}

void Dump::report_model(std::string_view model, std::string_view graph) {
  const std::lock_guard lock(mutex_);
  if (!wishes(Wish::kModels) || models_.size() >= kMostTables || !models_.emplace(model).second) return;
  const Result<std::string> text = graphs_.add_model(model, graph);
  if (!text.ok()) return tensortap_note(session_, text.status().message().c_str());
  write_topology("model", std::string(model), *text);
}

void Dump::report_execution(Table table, uint64_t count, std::string_view name, std::string_view parameters,
                            std::span<const ToldTensor> inputs, std::span<const ToldTensor> outputs) {
  const bool kernels = table == Table::kKernels;
  if (!wishes(kernels ? Wish::kKernelTable : Wish::kOperationTable)) return;
  const auto side_of = [this](std::span<const ToldTensor> tensors) {
    std::vector<ExecutionTensor> side;
    for (const ToldTensor& tensor : tensors) {
      side.push_back({std::string(tensor.type), std::string(tensor.format), std::string(tensor.dims),
                      concat(folder_, "/", kTensors, "/", tensor.path)});
    }
    return side;
  };
  const std::lock_guard lock(mutex_);
  if (rows_.size() >= kMostTables) return;
  uint64_t& number = rows_[{table, count}];
  std::string text = number == 0 ? std::string(kExecutionColumns) : std::string();
  text += execution_row(++number, {std::string(name), std::string(parameters), side_of(inputs), side_of(outputs)});
  write(concat(kernels ? "kernel_io_tensors/" : "operation_io_tensors/", process_, kernels ? "/kernel_tensors_" : "/operation_tensors_",
               count, ".csv"),
        text, TENSORTAP_DOCUMENT_APPEND);
}

void Dump::report_times(uint64_t count, std::string_view operation, std::string_view times) {
  if (!wishes(Wish::kTimes)) return;
  const std::lock_guard lock(mutex_);
  write(concat("cpu_profiling/", process_, "/operation_statistic_", count, ".txt"), concat("[", operation, "]:", times, "\n"),
        TENSORTAP_DOCUMENT_APPEND);
}

}  // namespace tensortap::atb
