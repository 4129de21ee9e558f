// The functions that the adapter calls: they turn calls, nodes and scopes of torch into events of a session.

#ifndef TENSORTAP_SOURCE_PYTORCH_ENTRY_TRACKER_H_
#define TENSORTAP_SOURCE_PYTORCH_ENTRY_TRACKER_H_

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::pytorch {

// The functions to attach an adapter with. Constant.
const tensortap_torch_tracker& tracker_functions();

// Ends the current step on behalf of the program.
void program_ends_step();

// Makes the interpreter's side of this process report here. The arguments are members of PythonEvents. Call once.
void follow_python(const char* (*open)(const char* config, const char* config_name, const char* out), const char* (*close)(),
                   void (*worker_begins)());

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_ENTRY_TRACKER_H_
