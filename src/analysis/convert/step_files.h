// Dumps as files that other tools take: safetensors, run results of Polygraphy, test data of ONNX models.

#ifndef TENSORTAP_CONVERT_STEP_FILES_H_
#define TENSORTAP_CONVERT_STEP_FILES_H_

#include <cstdint>

#include "base/status.h"
#include "convert/conversion.h"
#include "convert/target_folder.h"
#include "trace/dump_index.h"

namespace tensortap {

// All of them report a record that they cannot write and go on, and write files as a whole or not at all.

// NAME.safetensors for each step (values_by_step()), of at most about `part_bytes`: beyond that NAME-00001-of-00002.safetensors and so on
// with NAME.safetensors.index.json. Values of types that the format lacks become the next wider type.
void export_safetensors(const DumpIndex& dump, uint64_t part_bytes, const ConvertProgress& progress, TargetFolder& target,
                        ConvertReport& report);

// `file` with a RunResults of one runner, called `runner`, an iteration for each step; "": results.json, and inputs.json with what the
// graph was given.
void export_polygraphy(const DumpIndex& dump, const std::string& runner, const std::string& file, const ConvertProgress& progress,
                       TargetFolder& target, ConvertReport& report);

// test_data_set_N/input_0.pb and output_0.pb for each step: the values of the graph's inputs, and those of the main graph that no op
// reads. A step of which one is missing is reported and has no folder.
void export_onnx_test_data(const DumpIndex& dump, const ConvertProgress& progress, TargetFolder& target, ConvertReport& report);

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_STEP_FILES_H_
