// bootstrap_python(): brings the package's Python side into a program that knows nothing of it.
//
// Importing takes the GIL, and the thread of an operator may hold a lock that the owner of the GIL waits for. So nothing is imported at the
// operator itself: the interpreter is asked to do it on its main thread, between two instructions. Where the main thread stays in C code
// (it waits for the threads that train), a thread of ours, which holds no lock, does it.

#include <pthread.h>

#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <string>

#include "base/message.h"
#include "base/text.h"
#include "python/python_api.h"
#include "python/python_package.h"
#include "source/pytorch/entry/python_functions.h"
#include "source/pytorch/events/module_calls.h"
#include "source/pytorch/python/python_bridge.h"
#include "source/pytorch/python/source_folders.h"

namespace tensortap::pytorch {
namespace {

enum class State { kIdle, kAsked, kDone };

constexpr int kPatience = 2000;  // operators until our own thread is started

constinit std::atomic<State> bootstrap_state{State::kIdle};
constinit std::atomic<int> waited{0};
constinit std::atomic<bool> thread_started{false};
constinit std::atomic<bool> installing{false};

bool torch_is_imported() {
  PyObject* const modules = PyImport_GetModuleDict();
  PyObject* const torch = modules == nullptr ? nullptr : PyDict_GetItemString(modules, "torch");
  if (torch == nullptr || PyDict_GetItemString(modules, "torch.nn.modules.module") == nullptr) return false;
  const PythonReference spec(PyObject_GetAttrString(torch, "__spec__"));
  const PythonReference initializing(spec ? PyObject_GetAttrString(spec.get(), "_initializing") : nullptr);
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  return !initializing || PyObject_IsTrue(initializing.get()) == 0;
}

bool run_loader() {
  const PythonReference functions(python_functions());
  return functions && load_python_package("_tensortap_torch", known_package_folder() + "/tensortap/_torch", functions.get());
}

void say_exception() {
  say(concat(known_package_folder(), "/tensortap/_torch: ", taken_python_error("cannot be imported"),
             ". Modules, parameters and torch.compile are not captured by name; operators are."));
}

// With the GIL. 0, or -1 with an exception that belongs to the program.
int install_alone() {
  if (!python_is_there() || python_side_installed()) {
    bootstrap_state = State::kDone;
  } else if (!torch_is_imported()) {
    bootstrap_state = State::kIdle;
  } else if (run_loader()) {
    bootstrap_state = State::kDone;
  } else if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0) {
    bootstrap_state = State::kIdle;
    return -1;
  } else if (PyErr_ExceptionMatches(PyExc_RecursionError) != 0) {  // the program is too deep in its own calls now
    bootstrap_state = State::kIdle;
    PyErr_Clear();
  } else {
    bootstrap_state = State::kDone;
    say_exception();
  }
  return 0;
}

// The main thread and ours may both come here: the GIL changes hands while modules are imported.
int install() {
  if (bootstrap_state == State::kDone || installing.exchange(true)) return 0;
  const int result = install_alone();
  installing = false;
  return result;
}

int install_when_asked(void* /*unused*/) {
  try {
    return install();
  } catch (const std::exception&) {
    bootstrap_state = State::kDone;
    return 0;
  }
}

// Not noexcept, nothing to destroy: Python ends a thread that asks for the GIL of an interpreter that ends.
void* install_thread(void* /*unused*/) {
  if (!python_is_there()) return nullptr;
  const int gil = PyGILState_Ensure();
  if (install_when_asked(nullptr) != 0) PyErr_Clear();
  PyGILState_Release(gil);
  return nullptr;
}

// Signals stay with the program's threads.
void start_thread() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_t thread{};
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return;
  if (pthread_create(&thread, nullptr, install_thread, nullptr) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

bool bootstrap_python(const std::string& python_package) {
  if (bootstrap_state.load(std::memory_order_acquire) == State::kDone) return true;
  if (Py_IsInitialized == nullptr || python_package.empty()) return true;
  know_package_folder(python_package);
  if (!python_is_there() || PyGILState_GetThisThreadState() == nullptr) return false;
  State idle = State::kIdle;
  if (bootstrap_state.compare_exchange_strong(idle, State::kAsked)) {
    if (Py_AddPendingCall(install_when_asked, nullptr) != 0) bootstrap_state = State::kIdle;
  } else if (waited.fetch_add(1, std::memory_order_relaxed) > kPatience && !thread_started.exchange(true)) {
    start_thread();
  }
  return bootstrap_state.load(std::memory_order_acquire) == State::kDone;
}

}  // namespace tensortap::pytorch
