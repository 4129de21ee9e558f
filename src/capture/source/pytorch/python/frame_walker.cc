#include "source/pytorch/python/frame_walker.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "python/python_api.h"

namespace tensortap::pytorch {
namespace {

// Offsets in bytes; -1 = the word does not exist.
struct FrameLayout {
  int minor = 0;
  int current = 0;         // in the thread state: the innermost frame
  int current_inner = -1;  // in what `current` points to, where that is not the frame itself
  int previous = 0;        // in a frame
  int code = 0;
  int instruction = -1;     // in a frame: its place
  int bytecode_start = -1;  // in a code object
  uintptr_t tag_bits = 0;   // of the word that holds the code object
  int owner = -1;           // in a frame: the byte that marks the interpreter's own frames, where their code does not
};

constinit FrameLayout layout{};
constinit std::atomic<bool> tested{false};
constinit std::atomic<bool> in_use{false};

constexpr char kInterpretersOwn = 3;  // FRAME_OWNED_BY_CSTACK of 3.12

constexpr FrameLayout kPython310{10, 24, -1, 24, 32, 96, -1, 0, -1};
constexpr FrameLayout kPython311{11, 56, 8, 48, 32, 56, 184, 0, -1};
constexpr FrameLayout kPython312{12, 56, 0, 8, 0, -1, -1, 0, 70};

// The words of _PyRuntime since 3.13: a cookie, a version, whether free-threaded, then groups of offsets.
bool published_layout(int minor, FrameLayout& found) {
  if (_PyRuntime == nullptr || std::memcmp(_PyRuntime, "xdebugpy", 8) != 0) return false;
  uint64_t words[40];
  std::memcpy(words, _PyRuntime, sizeof words);
  if (words[2] != 0) return false;
  const int runtime_words = 3;
  const int interpreter_words = minor == 13 ? 13 : 16;
  const int thread_words = 9;
  const int thread = 3 + runtime_words + interpreter_words;
  const int frame = thread + thread_words;
  found = {minor, static_cast<int>(words[thread + 4]),       -1, static_cast<int>(words[frame + 1]), static_cast<int>(words[frame + 2]), -1,
           -1,    minor >= 14 ? uintptr_t{3} : uintptr_t{0}, -1};
  return true;
}

bool find_layout(FrameLayout& found) {
  const int minor = python_minor();
  if (sizeof(void*) != 8 || PyFrame_GetCode == nullptr || PyGILState_GetThisThreadState == nullptr) return false;
  if (minor >= 12 && PyUnstable_InterpreterFrame_GetLasti == nullptr) return false;
  switch (minor) {
    case 10:
      found = kPython310;
      return true;
    case 11:
      found = kPython311;
      return true;
    case 12:
      found = kPython312;
      return true;
    case 13:
    case 14:
      return published_layout(minor, found);
    default:
      return false;
  }
}

const char* word_at(const char* structure, int offset) {
  const char* word = nullptr;
  std::memcpy(&word, structure + offset, sizeof word);
  return word;
}

const char* first_frame() {
  const char* const thread = PyGILState_GetThisThreadState();
  if (thread == nullptr) return nullptr;
  const char* const frame = word_at(thread, layout.current);
  return frame != nullptr && layout.current_inner >= 0 ? word_at(frame, layout.current_inner) : frame;
}

// Null for the frames that the interpreter puts between those of Python code.
const PyObject* code_of(const char* frame) {
  if (layout.owner >= 0 && frame[layout.owner] == kInterpretersOwn) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(word_at(frame, layout.code)) & ~layout.tag_bits;
  const auto* const object = reinterpret_cast<const PyObject*>(address);
  return object != nullptr && object->type == PyCode_Type ? object : nullptr;
}

int offset_of(const char* frame, const PyObject* code) {
  if (layout.minor >= 12) return PyUnstable_InterpreterFrame_GetLasti(frame);
  if (layout.minor == 11)
    return static_cast<int>(word_at(frame, layout.instruction) - (reinterpret_cast<const char*>(code) + layout.bytecode_start));
  int32_t index = 0;
  std::memcpy(&index, frame + layout.instruction, sizeof index);
  return index * 2;
}

// Whether the bytes can be read at all; asks the kernel, for a wrong layout may lead anywhere.
bool readable(const void* address, size_t bytes) {
  char copy[256];
  const iovec to{copy, bytes};
  const iovec from{const_cast<void*>(address), bytes};
  const ssize_t copied = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
  return copied == static_cast<ssize_t>(bytes) || (copied < 0 && (errno == EPERM || errno == ENOSYS));
}

// Whether a frame agrees with Python's own report of it.
bool same_frame(const char* frame, const SourcePosition& told) {
  const PyObject* const code = code_of(frame);
  if (code == nullptr || code != told.code) return false;
  if (layout.bytecode_start >= 0 && !readable(code, static_cast<size_t>(layout.bytecode_start) + 8)) return false;
  return offset_of(frame, code) == told.offset;
}

// The next frame that has a code object; null after the last. `*broken` when memory is not what it should be.
const char* next_checked(const char* frame, bool* broken) {
  for (; frame != nullptr; frame = word_at(frame, layout.previous)) {
    const size_t bytes = static_cast<size_t>(std::max({layout.previous, layout.code, layout.instruction, layout.owner})) + 8;
    if (!readable(frame, bytes)) break;
    const auto code = reinterpret_cast<uintptr_t>(word_at(frame, layout.code)) & ~layout.tag_bits;
    if (code != 0 && !readable(reinterpret_cast<const void*>(code), sizeof(PyObject))) break;
    if (code_of(frame) != nullptr) return frame;
  }
  *broken = frame != nullptr;
  return nullptr;
}

const char* first_checked(bool* broken) {
  const char* const thread = PyGILState_GetThisThreadState();
  *broken = true;
  if (thread == nullptr || !readable(thread, static_cast<size_t>(layout.current) + 8)) return nullptr;
  const char* const inner = word_at(thread, layout.current);
  if (layout.current_inner >= 0 && (inner == nullptr || !readable(inner, static_cast<size_t>(layout.current_inner) + 8))) return nullptr;
  return next_checked(first_frame(), broken);
}

bool compare_all_frames() {
  bool broken = false;
  const char* frame = first_checked(&broken);
  GilFrameWalk told;
  int depth = 0;
  while (frame != nullptr) {
    if (!same_frame(frame, told.next())) return false;
    ++depth;
    frame = next_checked(word_at(frame, layout.previous), &broken);
  }
  return !broken && depth > 0 && told.next().code == nullptr;
}

PyObject* object_of(void* pointer) { return static_cast<PyObject*>(pointer); }

int told_offset(PyObject* frame) {
  if (PyFrame_GetLasti != nullptr) return PyFrame_GetLasti(frame);
  const PythonReference offset(PyObject_GetAttrString(frame, "f_lasti"));
  return offset ? static_cast<int>(PyLong_AsLong(offset.get())) : -1;
}

}  // namespace

bool test_frame_walk() {
  in_use = false;
  FrameLayout found;
  tested = false;
  if (!find_layout(found)) return false;
  layout = found;
  tested = compare_all_frames();
  in_use = tested.load();
  return tested;
}

bool frame_walk_works() { return in_use.load(std::memory_order_acquire); }

void use_frame_walk(bool enabled) { in_use = enabled && tested; }

FrameWalk::FrameWalk() : frame_(first_frame()) {}

SourcePosition FrameWalk::next() {
  while (frame_ != nullptr) {
    const char* const frame = frame_;
    frame_ = word_at(frame, layout.previous);
    if (const PyObject* const code = code_of(frame); code != nullptr) return {code, offset_of(frame, code)};
  }
  return {};
}

GilFrameWalk::GilFrameWalk() : frame_(PyEval_GetFrame()) {
  if (frame_ != nullptr) Py_IncRef(object_of(frame_));
}

GilFrameWalk::~GilFrameWalk() {
  if (frame_ != nullptr) Py_DecRef(object_of(frame_));
}

SourcePosition GilFrameWalk::next() {
  if (frame_ == nullptr) return {};
  PyObject* const frame = object_of(frame_);
  PyObject* const code = PyFrame_GetCode(frame);
  const SourcePosition position{code, told_offset(frame)};
  Py_DecRef(code);  // the frame, which runs, keeps it
  frame_ = PyFrame_GetBack(frame);
  Py_DecRef(frame);
  return position;
}

}  // namespace tensortap::pytorch
