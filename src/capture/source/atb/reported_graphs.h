// The graphs that ATB tells, as msit's files of topology have them: tensors by name instead of by number.

#ifndef TENSORTAP_SOURCE_ATB_REPORTED_GRAPHS_H_
#define TENSORTAP_SOURCE_ATB_REPORTED_GRAPHS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tensortap::atb {

// Thread-compatible.
class ReportedGraphs {
 public:
  // The JSON text of layer/{pid}/{operation}.json. Errors: kInvalidArgument when `graph` is no JSON, is of another operation, or is too
  // large.
  Result<std::string> add_operation(std::string_view operation, std::string_view graph);
  // The JSON text of model/{pid}/{model}.json: nodes have a running number of the process behind their names, and those whose operation
  // of that name was added have its nodes inside, with the model's names for what it reads and makes. Errors: as add_operation().
  Result<std::string> add_model(std::string_view model, std::string_view graph);

 private:
  static constexpr size_t kMostOperations = 100'000;
  std::map<std::string, std::string, std::less<>> operations_;  // graphs, by name
  uint64_t nodes_ = 0;                                          // of models so far
};

}  // namespace tensortap::atb

#endif  // TENSORTAP_SOURCE_ATB_REPORTED_GRAPHS_H_
