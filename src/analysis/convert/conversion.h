// The request of a conversion, and its report.

#ifndef TENSORTAP_CONVERT_CONVERSION_H_
#define TENSORTAP_CONVERT_CONVERSION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "convert/layout_losses.h"
#include "query/row_query.h"
#include "tensor/data_order.h"
#include "trace/completeness.h"

namespace tensortap {

struct ConvertRequest {
  std::vector<std::string> sources;  // files, or one folder
  std::string target;
  std::string to;                      // one of conversion_targets()
  std::optional<DataOrder> order;      // put elements into this order
  std::optional<DataOrder> order_now;  // of files that do not store one; ND
  std::vector<int64_t> shape;          // without blocks, where files do not store it
  std::string slot;                    // "input.0": only this one of every DumpData file, "" = all
  uint32_t threads = 2;
  uint64_t part_bytes = 5'000'000'000;  // of a safetensors file, about
  std::string key;                      // of model-explorer: the statistic, "" = absmax
  RowQuery query;                       // of a dump: only these records
  std::string graph;                    // of model-explorer: the graph's id there; "" = whichever is open
};

struct ConvertFailure {
  std::string source;
  std::string reason;
};

struct ConvertReport {
  uint64_t sources = 0;   // files or records that were converted wholly
  uint64_t written = 0;   // files
  uint64_t bytes = 0;     // written
  uint64_t replaced = 0;  // files that were there before
  std::vector<ConvertFailure> failed;
  std::vector<Loss> losses;  // what the target layout cannot store
  std::vector<std::string> notes;
  std::optional<Completeness> source;  // where a dump was converted as one
};

// Called now and then, from one thread.
using ConvertProgress = std::function<void(uint64_t done, uint64_t total)>;

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_CONVERSION_H_
