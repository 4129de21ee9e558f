#include "crash/crash_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/json.h"
#include "base/process.h"
#include "base/spans.h"
#include "base/text.h"
#include "crash/crash_format.h"
#include "crash/crash_session.h"
#include "tensor/dtype.h"

namespace tensortap {
namespace {

#if defined(__x86_64__)
constexpr std::array<std::string_view, 18> kRegisterNames = {"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rdi",
                                                             "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp", "rip", "eflags"};
#else
constexpr std::array<std::string_view, 0> kRegisterNames = {};
#endif

constexpr uint64_t kMostBytes = uint64_t{1} << 36;  // of one tensor

std::string signal_name(int32_t signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? concat("signal ", signal) : concat("SIG", name);
}

template <class T>
bool read_at(std::span<const std::byte> bytes, uint64_t offset, T& value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return true;
}

std::vector<uint64_t> numbers_of(std::span<const std::byte> bytes) {
  std::vector<uint64_t> numbers(bytes.size() / sizeof(uint64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(uint64_t));
  return numbers;
}

// Where the memory of a tensor begins in its frame.
constexpr size_t tensor_bytes(bool is_narrow) { return sizeof(CrashTensor) - (is_narrow ? sizeof(RecordRow) - kNarrowRowBytes : 0); }

bool read_tensor(std::span<const std::byte> bytes, bool is_narrow, CrashTensor& tensor) {
  if (!is_narrow) return read_at(bytes, 0, tensor);
  if (bytes.size() < tensor_bytes(true)) return false;
  tensor.row = row_of_narrow(bytes.data());
  std::memcpy(&tensor.strides, bytes.data() + kNarrowRowBytes, sizeof(CrashTensor) - offsetof(CrashTensor, strides));
  return true;
}

// Whether all elements of the tensor lie in the bytes that follow it.
bool is_inside(const CrashTensor& tensor, uint64_t available) {
  const TensorDesc desc = tensor.row.desc();
  const uint64_t size = dtype_info(desc.dtype).bits / 8;
  if (tensor.bytes > available || desc.shape.numel() != tensor.row.numel || tensor.row.numel == 0) return false;
  if (tensor.strided == 0) return tensor.first == 0 && packed_bytes(desc.dtype, tensor.row.numel) == tensor.bytes;
  // Elements may be repeated by a stride of 0, but not without end.
  if (size == 0 || tensor.first > tensor.bytes || tensor.row.numel > kMostBytes / size) return false;
  int64_t low = 0;
  int64_t high = static_cast<int64_t>(size);
  for (int i = 0; i < desc.shape.rank(); ++i) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(desc.shape[i] - 1, tensor.strides[i], &reach)) return false;
    if (__builtin_mul_overflow(reach, static_cast<int64_t>(size), &reach)) return false;
    int64_t& end = reach < 0 ? low : high;
    if (__builtin_add_overflow(end, reach, &end)) return false;
  }
  const auto first = static_cast<int64_t>(tensor.first);
  return low + first >= 0 && high <= static_cast<int64_t>(tensor.bytes) - first;
}

}  // namespace

std::string hexadecimal(uint64_t number) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return concat("0x", std::string_view(digits.data(), static_cast<size_t>(end - digits.data())));
}

Json registers_json(std::span<const uint64_t> registers) {
  Json json = Json::object();
  for (size_t i = 0; i < registers.size(); ++i) {
    const std::string name = i < kRegisterNames.size() ? std::string(kRegisterNames[i]) : concat("r", i);
    if (i < kRegisterNames.size() || kRegisterNames.empty()) json[name] = hexadecimal(registers[i]);
  }
  return json;
}

bool CrashFile::is_name(std::string_view file_name) {
  return file_name.starts_with(kCrashFilePrefix) && file_name.ends_with(kCrashFileSuffix);
}

bool CrashFile::is_left_in(const std::string& folder, std::string_view layout) {
  return std::ranges::any_of(names_in(folder), [&](const std::string& name) {
    const Result<std::unique_ptr<CrashFile>> crash = read(join_path(folder, name));
    return crash.ok() && (*crash)->layout() == layout;
  });
}

std::vector<std::string> CrashFile::names_in(const std::string& folder) {
  std::vector<std::string> found;
  const Result<std::vector<std::string>> names = list_directory(folder);
  if (!names.ok()) return found;
  for (const std::string& name : *names) {
    if (!is_name(name)) continue;
    const Result<MappedFile> file = MappedFile::open(join_path(folder, name));
    if (file.ok() && !file->bytes().empty()) found.push_back(name);
  }
  return found;
}

Result<std::unique_ptr<CrashFile>> CrashFile::read(const std::string& path) {
  std::unique_ptr<CrashFile> crash(new CrashFile);
  TENSORTAP_ASSIGN_OR_RETURN(crash->file_, MappedFile::open_settled(path));
  TENSORTAP_RETURN_IF_ERROR(crash->parse().with_context(path));
  return crash;
}

Status CrashFile::parse() {
  const std::span<const std::byte> bytes = file_.bytes();
  CrashHeader header;
  if (!read_at(bytes, 0, header) || header.magic != kCrashMagic) return corrupt("no crash file of tensortap");
  signal_ = header.signal;
  code_ = header.code;
  address_ = header.address;
  process_ = header.process;
  thread_ = header.thread;
  skipped_ = header.skipped;
  complete_ = header.complete == 1;
  uint64_t at = sizeof(header);
  CrashFrame frame;
  while (read_at(bytes, at, frame)) {
    at += sizeof(frame);
    const auto content = part_of(bytes, at, frame.bytes);
    if (!content || !take(static_cast<uint32_t>(frame.kind), *content)) break;
    at = std::min<uint64_t>(at + (frame.bytes + 7) / 8 * 8, bytes.size());
  }
  return {};
}

bool CrashFile::take(uint32_t kind, std::span<const std::byte> bytes) {
  switch (static_cast<CrashFrameKind>(kind)) {
    case CrashFrameKind::kOp:
      return take_op(bytes);
    case CrashFrameKind::kTensor:
      return take_tensor(bytes, false);
    case CrashFrameKind::kNarrowTensor:
      return take_tensor(bytes, true);
    case CrashFrameKind::kRegisters:
      registers_ = numbers_of(bytes);
      return true;
    case CrashFrameKind::kStack:
      stack_ = numbers_of(bytes);
      return true;
    case CrashFrameKind::kMaps:
      maps_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
      return true;
    case CrashFrameKind::kSession:
      return take_session(bytes);
  }
  return true;
}

bool CrashFile::take_op(std::span<const std::byte> bytes) {
  CrashOp told;
  if (!read_at(bytes, 0, told)) return false;
  std::string_view texts(reinterpret_cast<const char*>(bytes.data()) + sizeof(told), bytes.size() - sizeof(told));
  const auto next = [&texts](uint32_t size) {
    const std::string text(texts.substr(0, size));
    texts.remove_prefix(text.size());
    return text;
  };
  Op op;
  op.op = told.op;
  op.name = next(told.name_bytes);
  op.type = next(told.type_bytes);
  op.attributes = next(told.attributes_bytes);
  op.call = told.call;
  op.step = told.step;
  op.thread = told.thread;
  op.flags = told.flags;
  CrashOpPlace place;
  if (read_at(std::as_bytes(std::span(texts)), 0, place)) {
    texts.remove_prefix(sizeof(place));
    op.place = place.place;
    op.outputs = place.outputs;
    op.single = place.single == 1;
    op.graph = next(place.graph_bytes);
    op.original = next(place.original_bytes);
  }
  ((op.flags & kCrashedTold) != 0 ? told_ : ops_).push_back(std::move(op));
  return true;
}

bool CrashFile::take_session(std::span<const std::byte> bytes) {
  CrashSession session;
  if (!read_at(bytes, 0, session)) return false;
  time_us_ = std::max<int64_t>(session.time_us, 0);
  session_.assign(reinterpret_cast<const char*>(bytes.data()) + sizeof(session), bytes.size() - sizeof(session));
  return true;
}

std::string CrashFile::layout() const { return crash_session_layout(session_); }

bool CrashFile::is_of_living_process() const { return process_exists(process_); }

OpInfo CrashFile::Op::info() const {
  OpInfo info;
  info.name = name;
  info.type = type;
  info.graph = graph;
  info.attributes = attributes;
  info.single = single;
  if (!original.empty()) info.originals.push_back({original, type});
  return info;
}

std::vector<const CrashFile::Op*> CrashFile::known_ops() const {
  std::vector<const Op*> known;
  for (const std::vector<Op>* part : {&ops_, &told_}) {
    for (const Op& op : *part) known.push_back(&op);
  }
  std::ranges::stable_sort(known, {}, [](const Op* op) { return op->op; });
  const auto rest = std::ranges::unique(known, {}, [](const Op* op) { return op->op; });
  known.erase(rest.begin(), rest.end());
  return known;
}

bool CrashFile::take_tensor(std::span<const std::byte> bytes, bool is_narrow) {
  CrashTensor tensor;
  if (!read_tensor(bytes, is_narrow, tensor)) return false;
  const std::span<const std::byte> memory = after(bytes, tensor_bytes(is_narrow));
  RecordRow row = tensor.row;
  row.flags &= static_cast<uint8_t>(~(kRecordHasData | kRecordDataLost | kRecordRaw));
  row.data_offset = row.data_bytes = row.member = row.histogram = row.data_header = row.sketch = 0;
  row.stats = {};
  const TensorDesc desc = row.desc();
  row.set_desc(desc);
  row.set_strides({desc, nullptr, tensor.strided == 0 ? nullptr : tensor.strides});
  const bool has_data = tensor.bytes > 0 && is_inside(tensor, memory.size());
  row.flags |= has_data ? kRecordHasData : kRecordDataLost;
  row.committed = 1;
  rows_.push_back(row);
  tensors_.push_back({has_data ? bytes : std::span<const std::byte>(), is_narrow});
  return true;
}

Result<RecordData> CrashFile::data(size_t row) const {
  if (row >= rows_.size() || tensors_[row].bytes.empty())
    return not_found("the memory of this tensor could not be read when the program crashed");
  const auto& [bytes, is_narrow] = tensors_[row];
  CrashTensor tensor;
  if (!read_tensor(bytes, is_narrow, tensor)) return corrupt("crash file changed while it was read");
  const RecordRow& record = rows_[row];
  TensorView view{record.desc(), bytes.data() + tensor_bytes(is_narrow) + tensor.first, tensor.strided == 0 ? nullptr : tensor.strides};
  const std::shared_ptr<std::byte[]> packed(new (std::nothrow) std::byte[std::max<uint64_t>(record.bytes, 1)]);
  if (packed == nullptr) return exhausted("no memory for a tensor of a crash file");
  copy_packed(view, packed.get());
  return RecordData{TensorView{view.desc, packed.get(), nullptr}, packed};
}

const CrashFile::Op* CrashFile::crashed() const {
  for (const uint32_t flag : {kCrashedHere, kCrashedNext}) {
    const auto found = std::ranges::find_if(ops_, [flag](const Op& op) { return (op.flags & flag) != 0; });
    if (found != ops_.end()) return &*found;
  }
  // The thread that got the signal ran no op: it may have worked for the only one that did.
  return ops_.size() == 1 ? ops_.data() : nullptr;
}

std::string CrashFile::text() const {
  std::string text = concat("the program got ", signal_name(signal_));
  if (code_ > 0 && (signal_ == SIGSEGV || signal_ == SIGBUS)) text += concat(" (address ", hexadecimal(address_), ")");
  const Op* op = crashed();
  if (op == nullptr) return concat(text, ops_.empty() ? " while no op was known to run" : " while several ops ran on other threads");
  return concat(text, (op->flags & kCrashedNext) != 0 ? " probably in op " : " in op ", quote(op->name), " (", op->type, ")");
}

std::string CrashFile::place_of(uint64_t address) const {
  for (std::string_view rest = maps_; !rest.empty();) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t offset = 0;
    const char* stop = line.data() + line.size();
    const auto begin = std::from_chars(line.data(), stop, first, 16);
    if (begin.ptr == stop || *begin.ptr != '-') continue;
    const auto finish = std::from_chars(begin.ptr + 1, stop, last, 16);
    if (address < first || address >= last || stop - finish.ptr < 6) continue;
    std::from_chars(finish.ptr + 6, stop, offset, 16);
    const size_t path = line.find('/');
    return concat(path == std::string_view::npos ? std::string_view("?") : line.substr(path), "+", hexadecimal(address - first + offset));
  }
  return "?";
}

// run.json is written when a capture ends, which this one did not.
void CrashFile::add_to_manifest(Json& manifest) const {
  if (!manifest.is_object()) return;
  if (!manifest.contains("crash")) manifest["crash"] = to_json();
  if (!manifest.contains("complete")) manifest["complete"] = false;
  const Op* op = crashed();
  const bool failed = manifest.contains("failed_op") && !manifest["failed_op"].is_null();
  if (op == nullptr || failed) return;
  Json inputs = Json::array();
  for (const RecordRow& row : rows_) {
    const bool own = row.op == op->op && row.call == op->call && row.step == op->step && (row.flags & kRecordFailedOp) != 0;
    if (own) inputs.push_back(record_name(row, op->name));
  }
  manifest["failed_op"] = {{"name", op->name}, {"type", op->type}, {"error", text()}, {"step", op->step}, {"inputs", inputs}};
  manifest["failed_ops"] = 1;
}

Json CrashFile::stack_json() const {
  Json list = Json::array();
  for (const uint64_t address : stack_) list.push_back({{"address", hexadecimal(address)}, {"in", place_of(address)}});
  return list;
}

Json CrashFile::to_json() const {
  const auto op_json = [](const Op& op) {
    return Json{{"name", op.name}, {"type", op.type}, {"step", op.step}, {"call", op.call}, {"thread", op.thread}};
  };
  Json json = {{"text", text()}, {"signal", signal_name(signal_)}, {"code", code_}, {"address", hexadecimal(address_)}};
  json["process"] = process_;
  json["thread"] = thread_;
  json["complete"] = complete_;
  json["op"] = crashed() == nullptr ? Json(nullptr) : op_json(*crashed());
  json["running"] = Json::array();
  for (const Op& op : ops_) json["running"].push_back(op_json(op));
  json["skipped"] = skipped_;
  json["registers"] = registers_.empty() ? Json(nullptr) : registers_json(registers_);
  json["stack"] = stack_.empty() ? Json(nullptr) : stack_json();
  return json;
}

}  // namespace tensortap
