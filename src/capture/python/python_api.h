// The part of CPython's C API that this library uses, as weak symbols and without Python's headers: one library for every version of Python
// and for programs without any. Everything declared here is null in a process without an interpreter: ask python_is_there() first.

#ifndef TENSORTAP_PYTHON_PYTHON_API_H_
#define TENSORTAP_PYTHON_PYTHON_API_H_

#include <cstddef>
#include <cstdint>

#define TENSORTAP_PYTHON __attribute__((weak, visibility("default"))) extern

extern "C" {

// The two words that every object of a Python build with a GIL begins with, since 3.0.
struct PyObject {
  intptr_t reference_count;
  const void* type;
};

struct PyMethodDef {
  const char* name;
  union {  // `flags` selects one
    PyObject* (*function)(PyObject* self, PyObject* const* arguments, ptrdiff_t count);
    PyObject* (*tuple_function)(PyObject* self, PyObject* arguments, PyObject* named);
  };
  int flags;
  const char* documentation;
};

// A call: the arguments are those given by position, with a bit in their count that concerns their memory, and then those named in a tuple,
// which may be null.
using PythonCall = PyObject* (*)(PyObject* callable, PyObject* const* arguments, size_t counts, PyObject* names);

TENSORTAP_PYTHON int Py_IsInitialized();
TENSORTAP_PYTHON int Py_IsFinalizing();   // 3.13 and later
TENSORTAP_PYTHON int _Py_IsFinalizing();  // NOLINT(bugprone-reserved-identifier): before that
TENSORTAP_PYTHON const char* Py_GetVersion();
TENSORTAP_PYTHON int Py_AddPendingCall(int (*function)(void*), void* argument);

TENSORTAP_PYTHON int PyGILState_Ensure();
TENSORTAP_PYTHON void PyGILState_Release(int state);
TENSORTAP_PYTHON const char* PyGILState_GetThisThreadState();
TENSORTAP_PYTHON void* PyThreadState_Get();
TENSORTAP_PYTHON void PyThreadState_EnterTracing(void* state);  // 3.11 and later
TENSORTAP_PYTHON void PyThreadState_LeaveTracing(void* state);
TENSORTAP_PYTHON void* PyEval_SaveThread();
TENSORTAP_PYTHON void PyEval_RestoreThread(void* state);

TENSORTAP_PYTHON void Py_IncRef(PyObject* object);
TENSORTAP_PYTHON void Py_DecRef(PyObject* object);
TENSORTAP_PYTHON PyObject* PyObject_GetAttrString(PyObject* object, const char* name);
TENSORTAP_PYTHON int PyObject_IsTrue(PyObject* object);
TENSORTAP_PYTHON PyObject* PyObject_Str(PyObject* object);
TENSORTAP_PYTHON PyObject* PyObject_Call(PyObject* callable, PyObject* arguments, PyObject* named);
TENSORTAP_PYTHON PyObject* PyObject_CallFunctionObjArgs(PyObject* callable, ...);
TENSORTAP_PYTHON PyObject* PyObject_GetIter(PyObject* object);
TENSORTAP_PYTHON PyObject* PyIter_Next(PyObject* iterator);

TENSORTAP_PYTHON PyObject* PyErr_Occurred();
TENSORTAP_PYTHON void PyErr_Clear();
TENSORTAP_PYTHON void PyErr_Fetch(PyObject** type, PyObject** value, PyObject** traceback);
TENSORTAP_PYTHON void PyErr_Restore(PyObject* type, PyObject* value, PyObject* traceback);
TENSORTAP_PYTHON int PyErr_ExceptionMatches(PyObject* type);
TENSORTAP_PYTHON void PyErr_SetString(PyObject* type, const char* message);

TENSORTAP_PYTHON PyObject* PyLong_FromLong(long value);
TENSORTAP_PYTHON PyObject* PyLong_FromUnsignedLongLong(unsigned long long value);
TENSORTAP_PYTHON long PyLong_AsLong(PyObject* object);
TENSORTAP_PYTHON unsigned long long PyLong_AsUnsignedLongLong(PyObject* object);
TENSORTAP_PYTHON PyObject* PyBool_FromLong(long value);
TENSORTAP_PYTHON PyObject* PyUnicode_FromStringAndSize(const char* text, ptrdiff_t size);
TENSORTAP_PYTHON const char* PyUnicode_AsUTF8AndSize(PyObject* object, ptrdiff_t* size);
TENSORTAP_PYTHON PyObject* PyDict_New();
TENSORTAP_PYTHON int PyDict_SetItemString(PyObject* dictionary, const char* key, PyObject* value);
TENSORTAP_PYTHON PyObject* PyDict_GetItemString(PyObject* dictionary, const char* key);  // borrowed
TENSORTAP_PYTHON PyObject* PyDict_GetItem(PyObject* dictionary, PyObject* key);          // borrowed
TENSORTAP_PYTHON PyObject* PyTuple_New(ptrdiff_t size);
TENSORTAP_PYTHON int PyTuple_SetItem(PyObject* tuple, ptrdiff_t index, PyObject* owned);
TENSORTAP_PYTHON ptrdiff_t PyTuple_Size(PyObject* tuple);
TENSORTAP_PYTHON PyObject* PyTuple_GetItem(PyObject* tuple, ptrdiff_t index);  // borrowed
TENSORTAP_PYTHON PyObject* PyImport_GetModuleDict();                           // borrowed
TENSORTAP_PYTHON PyObject* PyUnicode_InternFromString(const char* text);
TENSORTAP_PYTHON PythonCall PyVectorcall_Function(PyObject* callable);                // 3.11 and later
TENSORTAP_PYTHON void PyFunction_SetVectorcall(PyObject* function, PythonCall call);  // 3.12 and later
TENSORTAP_PYTHON PyObject* _PyFunction_Vectorcall(PyObject* callable, PyObject* const* arguments,
                                                  size_t counts,     // NOLINT(bugprone-reserved-identifier)
                                                  PyObject* names);  // up to 3.12
TENSORTAP_PYTHON PyObject* PyInstanceMethod_New(PyObject* function);
TENSORTAP_PYTHON PyObject* PyCFunction_NewEx(PyMethodDef* method, PyObject* self, PyObject* module);
TENSORTAP_PYTHON PyObject* Py_CompileString(const char* text, const char* file, int start);
TENSORTAP_PYTHON PyObject* PyEval_EvalCode(PyObject* code, PyObject* globals, PyObject* locals);
TENSORTAP_PYTHON PyObject* PyEval_GetBuiltins();  // borrowed

TENSORTAP_PYTHON PyObject* PyEval_GetFrame();  // borrowed
TENSORTAP_PYTHON PyObject* PyFrame_GetBack(PyObject* frame);
TENSORTAP_PYTHON PyObject* PyFrame_GetCode(PyObject* frame);
TENSORTAP_PYTHON int PyFrame_GetLasti(PyObject* frame);  // 3.11 and later
TENSORTAP_PYTHON int PyFrame_GetLineNumber(PyObject* frame);
TENSORTAP_PYTHON int PyCode_Addr2Line(PyObject* code, int offset);
TENSORTAP_PYTHON int PyUnstable_InterpreterFrame_GetLasti(const void* frame);  // 3.12 and later

TENSORTAP_PYTHON PyObject _Py_NoneStruct;  // NOLINT(bugprone-reserved-identifier)
TENSORTAP_PYTHON PyObject* PyExc_Exception;
TENSORTAP_PYTHON PyObject* PyExc_KeyboardInterrupt;
TENSORTAP_PYTHON PyObject* PyExc_RecursionError;
TENSORTAP_PYTHON PyObject* PyExc_TypeError;
TENSORTAP_PYTHON char PyCode_Type[];
TENSORTAP_PYTHON char _PyRuntime[];  // NOLINT(bugprone-reserved-identifier)

}  // extern "C"

namespace tensortap {

constexpr int kPythonFastCall = 0x80;  // METH_FASTCALL
constexpr int kPythonTupleCall = 0x3;  // METH_VARARGS | METH_KEYWORDS
constexpr int kPythonFileInput = 257;  // Py_file_input

// Whether this process has an interpreter that runs and does not end. No lock.
bool python_is_there();
// From now on python_is_there() is false: the interpreter begins to end.
void python_ends();
// "3.11" is 11; 0 when it is not Python 3.
int python_minor();

// The GIL for as long as it lives; a pending exception of the thread survives. Only while python_is_there().
class GilGuard {
 public:
  GilGuard();
  ~GilGuard();
  GilGuard(const GilGuard&) = delete;
  GilGuard& operator=(const GilGuard&) = delete;

 private:
  int state_;
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* traceback_ = nullptr;
};

// Owns a reference; only with the GIL.
class PythonReference {
 public:
  explicit PythonReference(PyObject* owned = nullptr) : object_(owned) {}
  ~PythonReference() {
    if (object_ != nullptr) Py_DecRef(object_);
  }
  PythonReference(const PythonReference&) = delete;
  PythonReference& operator=(const PythonReference&) = delete;
  void reset(PyObject* owned) {
    if (object_ != nullptr) Py_DecRef(object_);
    object_ = owned;
  }
  [[nodiscard]] PyObject* get() const { return object_; }
  [[nodiscard]] PyObject* release() {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_;
};

}  // namespace tensortap

#endif  // TENSORTAP_PYTHON_PYTHON_API_H_
