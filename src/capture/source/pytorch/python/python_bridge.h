// Facts about the Python interpreter in this process, if there is one: module paths, parameter names and source lines.
//
// Python's symbols are weak, no Python header is used: one library serves every Python version and programs without any.

#ifndef TENSORTAP_SOURCE_PYTORCH_PYTHON_PYTHON_BRIDGE_H_
#define TENSORTAP_SOURCE_PYTORCH_PYTHON_PYTHON_BRIDGE_H_

#include <cstdint>
#include <string>

namespace tensortap::pytorch {

// Number of the path of an nn.Module of the program; 0 = outside of any. A path keeps its number: a module that replaces one that is gone
// (such as a loss function that is recreated in every step) has the same path and number.
using ModuleId = uint32_t;

// The innermost module that runs on this thread. No lock, no GIL.
ModuleId current_module();
// "Net.blocks.0.attn", "" for 0.
std::string module_path(ModuleId module);
// Name of the parameter or buffer whose storage has this data pointer; "" when there is none, or when several parameters share the storage.
// Any thread, no lock.
std::string parameter_name(const void* storage_data);
// A number for that name, 0 for "". Any thread, no lock.
uint32_t parameter_name_number(const void* storage_data);

// A place in the program's own code: the innermost frame outside torch and tensortap. Comparable, hashable; 0,0 = none.
struct SourcePosition {
  const void* code = nullptr;
  int32_t offset = 0;
  bool prints = false;  // torch makes the text of a tensor there, as for print()
  friend bool operator==(const SourcePosition&, const SourcePosition&) = default;
};
// The place on this thread. Reads the thread's own frames without the GIL if the self-test allowed it; otherwise takes the GIL if
// `may_take_gil`, else returns {}. Cheap: the walk ends at the first frame of the program's own. The GIL is also needed, once, for each
// code object that is met; so set `may_take_gil` only where no lock is held that a thread with the GIL may wait for.
SourcePosition source_position(bool may_take_gil);
// "train.py:41", "" for {}. Any thread, no lock, no GIL: all lines of a code object were read when it was first met.
std::string source_text(SourcePosition position);
// The module of a position in a graph that torch.compile made (`--compile aot`), 0 for all other code: it is more exact than
// current_module(), which sees the compiled model alone. Any thread, no lock.
ModuleId module_of(SourcePosition position);

// Called by the tracker at the beginning of an operator, until it returns true: runs the package's bootstrap once the interpreter has
// imported torch. True when nothing is left to do (done, failed, or no interpreter in this process). Does not wait for the GIL: it asks the
// interpreter to run the bootstrap on its main thread; if that does not happen, a thread of ours runs it.
bool bootstrap_python(const std::string& python_package);

struct GraphEvents;
struct ModelEvents;

// Beside enum tensortap_model_phase:
constexpr uint32_t kPhaseMayTrain = 6;  // training, if the program has an optimizer; programs forget eval()
constexpr uint32_t kPhaseStays = 7;     // the call says nothing of the model's phase: that of the call before goes on

// A call of a module while none runs.
struct RootCall {
  bool holds_tensors = true;  // the module has parameters or buffers
  uint32_t model_phase = 0;   // enum tensortap_model_phase, or kPhase*
};

// Told by the Python side; each may be null. Any thread that holds the GIL.
struct PythonEvents {
  // A module is called while none runs.
  void (*root_module_begins)(ModuleId module, const RootCall& call) = nullptr;
  // Whether the dump keeps which requests an engine calls its model for, in the step that runs; and these requests, as JSON.
  bool (*takes_requests)() = nullptr;
  void (*add_requests)(const char* json) = nullptr;
  void (*root_module_ends)(ModuleId module) = nullptr;
  void (*step)() = nullptr;                                                   // tensortap.step()
  void (*optimizer_steps)(const void* optimizer) = nullptr;                   // an optimizer begins its step on this thread
  void (*optimizer_made)(const void* optimizer) = nullptr;                    // the program made one; null = its address is not known
  void (*optimizer_gone)(const void* optimizer) = nullptr;                    // an optimizer is gone
  void (*set_dump)(ModuleId module, const char* op, bool enabled) = nullptr;  // op "" = the module and everything in it; module 0 = any
  // capture() of the package: opens a session in this process with the config text, or ends it. Returns "" or the error. The returned text
  // is borrowed until the next call on the thread.
  const char* (*open)(const char* config, const char* config_name, const char* out) = nullptr;
  const char* (*close)() = nullptr;  // the report as JSON text
  void (*enable)(bool enabled) = nullptr;
  void (*add_fact)(const char* name, const char* json) = nullptr;  // of the process or its job: tensortap_add_fact()
  // Whether torch has the operator tensortap::name_group (adapter_interface.h).
  bool (*names_groups)() = nullptr;
  void (*worker_begins)() = nullptr;  // this process is a worker of a DataLoader
  // An exception ended the program: tensortap_program_raised().
  bool (*program_raised)(const char* text, const char* const* lines, size_t line_count) = nullptr;
  // Whether the calls of a module of this path and class are the steps: tensortap_is_step_module(). Once for each module that is named.
  bool (*is_step_module)(const char* path, const char* type) = nullptr;
  void (*step_module_begins)() = nullptr;  // one of them is called, inside of no other one
  const GraphEvents* graphs = nullptr;
  const ModelEvents* models = nullptr;
};
void set_python_events(const PythonEvents& events);

// How many graphs torch.compile gave to Inductor in this process; their fused kernels are not captured.
uint64_t compiled_graphs();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_PYTHON_PYTHON_BRIDGE_H_
