// One recorded op as files that run without tensortap.

#ifndef TENSORTAP_REPLAY_REPRODUCER_H_
#define TENSORTAP_REPLAY_REPRODUCER_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "replay/recorded_op.h"
#include "replay/replay_model.h"
#include "trace/dump_index.h"

namespace tensortap {

// Errors of the name alone, before anything runs: another suffix, an existing file.
Status check_reproducer_path(const std::string& path);

// Writes `path`, and beside it what it needs; the paths of all files. By the suffix of `path`:
//   .py    a program that needs NumPy and the runtime, and FILE.npz with the model and its values
//   .onnx  a model, and test_data_set_0/ with input_N.pb and output_N.pb, as ONNX's backend tests have them
// Existing files are not replaced. Errors: kInvalidArgument for another suffix and for existing files; why the op cannot be replayed;
// kUnsupported for element types that NumPy does not have (.py); kIo.
Result<std::vector<std::string>> write_reproducer(const DumpIndex& dump, const RecordedOp& op, const std::string& path);

}  // namespace tensortap

#endif  // TENSORTAP_REPLAY_REPRODUCER_H_
