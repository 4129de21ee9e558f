// A statistic of every op as node data of Model Explorer, which colours the nodes of a graph by it.

#ifndef TENSORTAP_CONVERT_NODE_DATA_H_
#define TENSORTAP_CONVERT_NODE_DATA_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "convert/conversion.h"
#include "convert/target_folder.h"
#include "trace/dump_index.h"

namespace tensortap {

// The words that ConvertRequest::key may be: columns of numbers that sort.
std::vector<std::string> node_data_keys();

// Writes request.key (absmax) of the outputs at request.step into `file` ("" = model_explorer.json): under the name of the tensor, of the
// op, and of the author's node whose value it is. Of several records the largest value counts, of "min" the smallest. Nodes with NaN or
// Inf are red. `request.graph` is the graph's id in Model Explorer; "" = whichever graph is open.
// Errors, with nothing written: kInvalidArgument for an unknown key, a wrong step, or a dump without any such value.
Status export_node_data(const DumpIndex& dump, const ConvertRequest& request, const std::string& file, TargetFolder& target,
                        ConvertReport& report);

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_NODE_DATA_H_
