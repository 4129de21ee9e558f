#include "session/crash_recorder.h"

#include <execinfo.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <utility>

#include "base/files.h"
#include "base/size_signal.h"
#include "base/text.h"
#include "session/event_view.h"
#include "session/thread_number.h"

namespace tensortap {
namespace {

constexpr int kMostFiles = 100;  // of sessions of one process with one folder
constexpr size_t kMostFrames = 64;
constexpr uint64_t kPiece = uint64_t{1} << 26;

// clock_gettime may be called in a handler; base/clock.h says nothing about that.
int64_t clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

CrashRecorder::CrashRecorder(Folder folder, std::string name, File file, const CrashSources& sources)
    : folder_(std::move(folder)), name_(std::move(name)), file_(std::move(file)), fd_(file_.fd()), process_(getpid()), sources_(sources) {}

Result<std::unique_ptr<CrashRecorder>> CrashRecorder::open(const std::string& folder, const CrashSources& sources) {
  TENSORTAP_ASSIGN_OR_RETURN(Folder held, Folder::open(folder));
  for (int number = 1; number <= kMostFiles; ++number) {
    std::string name = concat(kCrashFilePrefix, getpid(), number == 1 ? std::string() : concat("-", number), kCrashFileSuffix);
    Result<File> file = held.open_file(name, O_RDWR | O_CREAT | O_EXCL, sources.access);
    if (!file.ok() && file.status().system_error() == EEXIST) continue;
    if (!file.ok()) return file.status();
    std::unique_ptr<CrashRecorder> recorder(new CrashRecorder(std::move(held), std::move(name), *std::move(file), sources));
    if (!recorder->running.reserve()) return exhausted("no memory to remember what runs, for crashes");
    if (sources.with_stack) {
      // The first walk loads a library, which a handler must not.
      std::array<void*, 4> frames{};
      backtrace(frames.data(), static_cast<int>(frames.size()));
    }
    if (!add_crash_listener(recorder.get())) return exhausted("no memory to hear of crashes");
    return recorder;
  }
  return io_error(concat(quote(folder), " holds too many crash files of this process"));
}

CrashRecorder::~CrashRecorder() {
  remove_crash_listener(this);
  // The program is alive: whatever signal there was, it was no crash.
  (void)folder_.remove(name_);
}

void CrashRecorder::crashed(int signal, const siginfo_t& info, const void* context) noexcept {
  // The first signal counts: others may follow from it.
  if (getpid() == process_ && sources_.off->load() == 0 && end_ == 0) write_all(signal, info, context);
}

void CrashRecorder::survived() noexcept {
  end_ = 0;
  [[maybe_unused]] const int cut = ftruncate(fd_, 0);
}

bool CrashRecorder::write_at(uint64_t offset, const void* bytes, uint64_t size) noexcept {
  const auto* from = static_cast<const std::byte*>(bytes);
  for (uint64_t done = 0; done < size;) {
    const ssize_t written = pwrite(fd_, from + done, std::min(size - done, kPiece), static_cast<off_t>(offset + done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EFBIG) take_back_size_signal();
    // The kernel also reports memory that does not exist.
    if (written <= 0) return false;
    done += static_cast<uint64_t>(written);
  }
  return true;
}

void CrashRecorder::write_pieces(CrashFrameKind kind, std::span<const Piece> pieces) noexcept {
  CrashFrame frame{kind, 0, 0};
  for (const Piece& piece : pieces) frame.bytes += piece.size;
  uint64_t at = end_ + sizeof(frame);
  if (!write_at(end_, &frame, sizeof(frame))) return;
  for (const Piece& piece : pieces) {
    if (!write_at(at, piece.bytes, piece.size)) return;
    at += piece.size;
  }
  end_ += sizeof(frame) + (frame.bytes + 7) / 8 * 8;
}

void CrashRecorder::write_frame(CrashFrameKind kind, const void* bytes, uint64_t size) noexcept {
  const Piece piece{bytes, size};
  write_pieces(kind, {&piece, 1});
}

void CrashRecorder::write_all(int signal, const siginfo_t& info, const void* context) noexcept {
  CrashHeader header;
  header.signal = signal;
  header.code = info.si_code;
  header.address = reinterpret_cast<uint64_t>(info.si_addr);
  header.time_ns = clock_ns() - sources_.opened_ns;
  header.process = static_cast<uint32_t>(process_);
  header.thread = system_thread_number();
  if (!write_at(0, &header, sizeof(header))) return;
  end_ = sizeof(header);
  write_session();
  running.look(header.thread, [this](const RunningOp& op, RunningOps::Place place, bool here) {
    constexpr std::array<uint32_t, 3> kFlags = {kCrashedHere, kCrashedAround, kCrashedNext};
    write_running(op, here ? kFlags[static_cast<size_t>(place)] : 0);
  });
  if (sources_.ring != nullptr) write_ring();
  if (sources_.with_stack) {
    write_registers(context);
    write_maps();
    write_stack();
  }
  header.skipped = skipped_;
  header.complete = 1;
  write_at(0, &header, sizeof(header));
}

void CrashRecorder::write_session() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const CrashSession session{int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000};
  const std::array<Piece, 2> pieces = {Piece{&session, sizeof(session)}, {sources_.session.data(), sources_.session.size()}};
  write_pieces(CrashFrameKind::kSession, pieces);
}

void CrashRecorder::write_running(const RunningOp& op, uint32_t flags) noexcept {
  write_op(op, flags);
  const uint32_t count = std::min<uint32_t>(op.count, RunningOp::kMostTensors);
  uint32_t elements = 0;  // of lists, that moved what comes after them up
  for (uint32_t i = 0; i < count; ++i) {
    elements += op.tensors[i].element() > 0 ? 1 : 0;
    write_tensor(op, op.tensors[i], op.tensors[i].slot_index() + elements);
  }
}

void CrashRecorder::write_op(const RunningOp& op, uint32_t flags) noexcept {
  const OpEntry* entry = sources_.ops->find(op.op);
  if (entry == nullptr) return;
  const OpInfo& info = entry->info;
  const auto length = [](std::string_view text) { return static_cast<uint32_t>(text.size()); };
  const std::string_view original = info.originals.empty() ? std::string_view() : std::string_view(info.originals.front().name);
  CrashOp told{op.op, op.call, op.step, op.run, op.phase, op.thread, flags, 0, 0, 0};
  told.name_bytes = length(info.name);
  told.type_bytes = length(info.type);
  told.attributes_bytes = length(info.attributes);
  CrashOpPlace place{entry->place, static_cast<uint32_t>(info.outputs.size()), info.single ? 1U : 0U, 0, 0, op.thread_number};
  place.graph_bytes = length(info.graph);
  place.original_bytes = length(original);
  const std::array<Piece, 7> pieces = {Piece{&told, sizeof(told)},
                                       {info.name.data(), info.name.size()},
                                       {info.type.data(), info.type.size()},
                                       {info.attributes.data(), info.attributes.size()},
                                       {&place, sizeof(place)},
                                       {info.graph.data(), info.graph.size()},
                                       {original.data(), original.size()}};
  write_pieces(CrashFrameKind::kOp, pieces);
}

void CrashRecorder::write_tensor(const RunningOp& op, const RememberedTensor& tensor, uint32_t position) noexcept {
  const tensortap_tensor given = tensor.c();
  CrashTensor& out = tensor_;
  out = CrashTensor{};
  RecordRow& row = out.row;
  row.sequence = sources_.sequence->fetch_add(1, std::memory_order_relaxed);
  row.step = op.step;
  row.run = op.run;
  row.time_ns = clock_ns() - sources_.opened_ns;
  row.op = op.op;
  row.call = op.call;
  row.thread = op.thread_number;
  row.position = position;
  row.rank = sources_.rank;
  row.element = given.element;
  row.slot_kind = static_cast<uint8_t>(given.slot_kind);
  row.slot_index = static_cast<uint16_t>(std::min<uint32_t>(given.slot_index, std::numeric_limits<uint16_t>::max()));
  row.phase = static_cast<uint8_t>(std::min<uint32_t>(op.phase, TENSORTAP_PHASE_LOAD));
  row.flags = kRecordFailedOp;
  row.storage = given.storage;
  row.version = given.storage == 0 ? 0 : given.version;
  const auto dtype = given.dtype < kDTypeCount ? static_cast<DType>(given.dtype) : DType::kUndefined;
  row.set_desc(TensorDesc{dtype, Shape(std::span(given.dims, given.rank))});
  if (given.strides != nullptr) std::copy_n(given.strides, given.rank, out.strides);
  out.strided = given.strides == nullptr ? 0 : 1;
  const std::optional<MemorySpan> span = memory_span(given);
  out.first = span.has_value() ? span->first : 0;
  out.bytes = span.has_value() ? span->bytes : 0;
  write_tensor_frame(out, span.has_value() ? span->begin : nullptr);
}

void CrashRecorder::write_ring() noexcept {
  OpId told = kNoOp;
  const bool seen = sources_.ring->look([this, &told](const QueuedRecord& record) {
    if (record.row.op != std::exchange(told, record.row.op)) write_ring_op(record.row);
    CrashTensor& out = tensor_;
    out = CrashTensor{};
    out.row = record.row;
    const bool plain = !record.data.empty() && record.row.dtype != static_cast<uint8_t>(DType::kString);
    out.bytes = plain ? record.row.bytes : 0;
    write_tensor_frame(out, plain ? record.data.data() : nullptr);
  });
  if (!seen) ++skipped_;
}

void CrashRecorder::write_ring_op(const RecordRow& row) noexcept {
  RunningOp& op = ring_op_;
  op.op = row.op;
  op.call = row.call;
  op.step = row.step;
  op.run = row.run;
  op.phase = row.phase;
  op.thread_number = row.thread;
  write_op(op, kCrashedTold);
}

void CrashRecorder::write_tensor_frame(CrashTensor& tensor, const std::byte* memory) noexcept {
  CrashFrame frame{CrashFrameKind::kTensor, 0, sizeof(tensor) + tensor.bytes};
  const uint64_t at = end_ + sizeof(frame) + sizeof(tensor);
  if (tensor.bytes > 0 && !write_at(at, memory, tensor.bytes)) {
    ++skipped_;
    tensor.bytes = 0;
    frame.bytes = sizeof(tensor);
  }
  if (!write_at(end_, &frame, sizeof(frame)) || !write_at(end_ + sizeof(frame), &tensor, sizeof(tensor))) return;
  end_ += sizeof(frame) + (frame.bytes + 7) / 8 * 8;
}

void CrashRecorder::write_registers(const void* context) noexcept {
  if (context == nullptr) return;
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  write_frame(CrashFrameKind::kRegisters, machine.gregs, sizeof(machine.gregs));
#elif defined(__aarch64__)
  // x0 to x30, sp and pc are stored one after another.
  write_frame(CrashFrameKind::kRegisters, machine.regs, sizeof(machine.regs) + sizeof(machine.sp) + sizeof(machine.pc));
#else
  static_cast<void>(machine);
#endif
}

// What damaged the program may have damaged its stack.
void CrashRecorder::write_stack() noexcept {
  struct Walk {
    int count = 0;
    std::array<void*, kMostFrames> frames{};
  };
  Walk walk;
  const auto go = [](void* context) {
    auto& into = *static_cast<Walk*>(context);
    into.count = backtrace(into.frames.data(), static_cast<int>(into.frames.size()));
  };
  if (!survives_faults(go, &walk) || walk.count == 0) return;
  write_frame(CrashFrameKind::kStack, walk.frames.data(), static_cast<uint64_t>(walk.count) * sizeof(void*));
}

void CrashRecorder::write_maps() noexcept {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return;
  std::array<char, 2048> piece{};
  const uint64_t begin = end_ + sizeof(CrashFrame);
  uint64_t size = 0;
  for (ssize_t got = read(maps, piece.data(), piece.size()); got > 0; got = read(maps, piece.data(), piece.size())) {
    if (!write_at(begin + size, piece.data(), static_cast<uint64_t>(got))) break;
    size += static_cast<uint64_t>(got);
  }
  close(maps);
  const CrashFrame frame{CrashFrameKind::kMaps, 0, size};
  if (write_at(end_, &frame, sizeof(frame))) end_ += sizeof(frame) + (size + 7) / 8 * 8;
}

}  // namespace tensortap
