// Topology files of a dump of msit as ONNX models: what `tensortap.atb_json_to_onnx` does.

#ifndef TENSORTAP_CONVERT_TOPOLOGY_FILES_H_
#define TENSORTAP_CONVERT_TOPOLOGY_FILES_H_

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "format/atb_topology/topology_model.h"

namespace tensortap {

// The table of operations from which the types of the tensors in a topology file are known: the first of
// operation_io_tensors/PID/operation_tensors_N.csv beside its folder, PID the name of its folder. "" where there is none.
std::string operation_table_of(const std::string& topology_path);

// What the first row of each operation says of its tensors, by the name of the operation. Untrusted input. Errors: kNotFound, kIo; kCorrupt
// for what is no such table, with the line.
Result<std::map<std::string, OperationTypes>> read_operation_table(const std::string& path);

// Writes the model of PATH.json (topology_model()) as PATH.onnx beside it, and replaces an existing file. Errors: kInvalidArgument for a
// name without ".json"; as topology_model(), read_file() and write_file_atomically() have them. Nothing is written after an error.
Status convert_topology(const std::string& path, int64_t level, const TypesOf& types);

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_TOPOLOGY_FILES_H_
