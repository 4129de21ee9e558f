#include "source/pytorch/adapter/placements.h"

#include <ATen/core/Tensor.h>
#include <c10/core/DispatchKey.h>
#include <c10/core/impl/PyObjectSlot.h>

#include <charconv>
#include <cstddef>
#include <string_view>

#include "source/pytorch/adapter/operator_facts.h"
#include "source/pytorch/adapter/tensor_facts.h"

#define TENSORTAP_WEAK_PYTHON __attribute__((weak, visibility("default"))) extern

// As python_api.h declares them; that header conflicts with torch's name for a Python object.
extern "C" {
TENSORTAP_WEAK_PYTHON int Py_IsInitialized();
TENSORTAP_WEAK_PYTHON int Py_IsFinalizing();
TENSORTAP_WEAK_PYTHON int _Py_IsFinalizing();  // NOLINT(bugprone-reserved-identifier)
TENSORTAP_WEAK_PYTHON int PyGILState_Ensure();
TENSORTAP_WEAK_PYTHON void PyGILState_Release(int state);
TENSORTAP_WEAK_PYTHON void Py_DecRef(PyObject* object);
TENSORTAP_WEAK_PYTHON PyObject* PyObject_GetAttrString(PyObject* object, const char* name);
TENSORTAP_WEAK_PYTHON PyObject* PyObject_CallFunctionObjArgs(PyObject* callable, ...);
TENSORTAP_WEAK_PYTHON void PyErr_Clear();
TENSORTAP_WEAK_PYTHON void PyErr_Fetch(PyObject** type, PyObject** value, PyObject** traceback);
TENSORTAP_WEAK_PYTHON void PyErr_Restore(PyObject* type, PyObject* value, PyObject* traceback);
TENSORTAP_WEAK_PYTHON const char* PyUnicode_AsUTF8AndSize(PyObject* object, ptrdiff_t* size);
TENSORTAP_WEAK_PYTHON PyObject* PyImport_GetModuleDict();                                     // borrowed
TENSORTAP_WEAK_PYTHON PyObject* PyDict_GetItemString(PyObject* dictionary, const char* key);  // borrowed
}

namespace tensortap::torch_adapter {
namespace {

// The Python package by the name under which the process has it, and its function.
constexpr const char* kPackage = "_tensortap_torch";
constexpr const char* kFunction = "placement_of";

bool interpreter_runs() {
  if (Py_IsInitialized == nullptr || Py_IsInitialized() == 0) return false;
  if (Py_IsFinalizing != nullptr) return Py_IsFinalizing() == 0;
  return _Py_IsFinalizing == nullptr || _Py_IsFinalizing() == 0;
}

// The GIL, which the call on Python tensors takes anyway; a pending exception of the thread survives.
class Gil {
 public:
  Gil() : state_(PyGILState_Ensure()) { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~Gil() {
    PyErr_Clear();
    PyErr_Restore(type_, value_, traceback_);
    PyGILState_Release(state_);
  }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  int state_;
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* traceback_ = nullptr;
};

class Owned {
 public:
  explicit Owned(PyObject* object) : object_(object) {}
  ~Owned() {
    if (object_ != nullptr) Py_DecRef(object_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  [[nodiscard]] PyObject* get() const { return object_; }

 private:
  PyObject* object_;
};

// Releases of torch call it differently.
template <class Slot>
PyObject* python_object(const Slot& slot) {
  if constexpr (requires { slot.load_pyobj(); }) {
    return slot.load_pyobj();
  } else {
    return slot._unchecked_untagged_pyobj();
  }
}

// "ADDRESS JSON": the address of a DTensor's local part, and the placement of the whole. "" for any other tensor.
std::string told_of(PyObject* function, const at::Tensor& tensor) {
  PyObject* const object = python_object(*tensor.unsafeGetTensorImpl()->pyobj_slot());
  if (object == nullptr) return "";
  const Owned answer(PyObject_CallFunctionObjArgs(function, object, nullptr));
  ptrdiff_t size = 0;
  const char* text = answer.get() == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(answer.get(), &size);
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? "" : std::string(text, static_cast<size_t>(size));
}

PyObject* function_of_package() {
  PyObject* const modules = PyImport_GetModuleDict();
  PyObject* const package = modules == nullptr ? nullptr : PyDict_GetItemString(modules, kPackage);
  PyObject* const function = package == nullptr ? nullptr : PyObject_GetAttrString(package, kFunction);
  if (function == nullptr) PyErr_Clear();
  return function;
}

// The call of the same operator around this one; null when there is none.
const Frame* outer_call(const OperatorFacts& facts) {
  const ThreadFrames* frames = thread_frames();
  if (frames == nullptr) return nullptr;
  for (uint32_t i = frames->depth; i-- > 0;) {
    const Frame& frame = frames->stack[i];
    if (!frame.wrapped.empty()) return frame.facts == &facts ? &frame : nullptr;
  }
  return nullptr;
}

const void* address_of(const CallArguments& arguments, uint32_t slot, int32_t element) {
  const void* address = nullptr;
  if (slot >= arguments.values.size()) return address;
  for_each_tensor(arguments.values[slot], [&](const at::Tensor& tensor, int32_t number) {
    if (number == element && tensor.defined()) address = describe(tensor, slot, element).data;
  });
  return address;
}

void append_placement(std::string_view told, const KeptArgument<WeakTensor>& kept, const CallArguments& arguments, std::string& json) {
  const size_t space = told.find(' ');
  uint64_t address = 0;
  if (space == std::string_view::npos || std::from_chars(told.data(), told.data() + space, address).ec != std::errc()) return;
  if (address != reinterpret_cast<uintptr_t>(address_of(arguments, kept.slot, kept.element))) return;
  json += json.empty() ? "{\"in" : ", \"in";
  json += std::to_string(kept.slot);
  if (kept.element >= 0) json += "[" + std::to_string(kept.element) + "]";
  json += "\": ";
  json += told.substr(space + 1);
}

}  // namespace

void note_wrapped(Frame& frame, c10::ArrayRef<const c10::IValue> arguments) {
  for (uint32_t slot = 0; slot < arguments.size(); ++slot) {
    for_each_tensor(arguments[slot], [&](const at::Tensor& tensor, int32_t element) {
      if (!tensor.defined() || !tensor.unsafeGetTensorImpl()->key_set().has(c10::DispatchKey::Python)) return;
      frame.wrapped.push_back({WeakTensor(tensor.getIntrusivePtr()), slot, element});
    });
  }
}

std::string placements_of(const CallArguments& arguments) {
  const Frame* outer = outer_call(arguments.facts);
  if (outer == nullptr || !interpreter_runs()) return "";
  const Gil gil;
  const Owned function(function_of_package());
  std::string json;
  if (function.get() == nullptr) return json;
  for (const KeptArgument<WeakTensor>& kept : outer->wrapped) {
    auto held = kept.tensor.lock();
    if (held) append_placement(told_of(function.get(), at::Tensor(std::move(held))), kept, arguments, json);
  }
  return json.empty() ? json : json + "}";
}

int64_t outer_sequence_number(const OperatorFacts& facts) {
  const Frame* outer = outer_call(facts);
  return outer == nullptr ? -1 : outer->sequence_number;
}

bool is_below_wrapped(const ThreadFrames& frames) {
  for (uint32_t i = 0; i < frames.depth; ++i) {
    if (!frames.stack[i].wrapped.empty()) return true;
  }
  return false;
}

bool holds_parameter(const CallArguments& arguments, uint32_t slot) {
  const Frame* outer = outer_call(arguments.facts);
  if (outer == nullptr) return false;
  for (const KeptArgument<WeakTensor>& kept : outer->wrapped) {
    if (kept.slot != slot || kept.element > 0) continue;
    auto held = kept.tensor.lock();
    if (!held) continue;
    const at::Tensor tensor(std::move(held));
    if (tensor.requires_grad() && tensor.is_leaf()) return true;
  }
  return false;
}

}  // namespace tensortap::torch_adapter
