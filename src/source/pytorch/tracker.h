// What the adapter calls: from calls, nodes and scopes of torch to events of a session.

#ifndef TENSORTAP_SOURCE_PYTORCH_TRACKER_H_
#define TENSORTAP_SOURCE_PYTORCH_TRACKER_H_

#include <tensortap/capture.h>

#include "source/pytorch/adapter_interface.h"
#include "source/pytorch/torch_capture.h"

namespace tensortap {

// The functions to attach an adapter with. Constant.
const tensortap_torch_tracker& tracker_functions();

// Fills `out` with what a session is told of a tensor that holds `content`. False when there is nothing to tell it; a tensor that can not be
// captured is told to the session, once for each op and kind.
bool to_session(const TorchCapture& capture, OpIdentity& identity, const tensortap_torch_tensor& tensor, const StorageContent& content,
                tensortap_tensor& out);

// Ends the current step on behalf of the program.
void program_ends_step();

// Makes the interpreter's side of this process report here; what is given are members of PythonEvents. Once.
void follow_python(const char* (*open)(const char* config, const char* config_name, const char* out), const char* (*close)(),
                   void (*worker_begins)());

}  // namespace tensortap

#endif  // TENSORTAP_SOURCE_PYTORCH_TRACKER_H_
