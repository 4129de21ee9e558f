// Topology files of msit as ONNX models.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <map>
#include <string>
#include <utility>

#include "bindings.h"
#include "convert/topology_files.h"

namespace nb = nanobind;

namespace tensortap::python {
namespace {

struct OperationTable {
  std::map<std::string, OperationTypes> operations;
};

// Paths may be any bytes.
std::string path_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

void convert(const nb::bytes& path, int64_t level, const OperationTable* table) {
  const Status status = convert_topology(path_of(path), level, [table](std::string_view name) {
    if (table == nullptr) return OperationTypes();
    const auto found = table->operations.find(std::string(name));
    return found == table->operations.end() ? OperationTypes() : found->second;
  });
  if (!status.ok()) throw StatusError{status};
}

}  // namespace

void bind_topology(nb::module_& module) {
  nb::class_<OperationTable>(module, "OperationTable").def("__init__", [](OperationTable* table, const nb::bytes& path) {
    new (table) OperationTable{value_or_throw(read_operation_table(path_of(path)))};
  });
  module.def("operation_table_of", [](const nb::bytes& path) {
    const std::string table = operation_table_of(path_of(path));
    return nb::bytes(table.data(), table.size());
  });
  module.def("convert_topology", convert, nb::arg("path"), nb::arg("level"), nb::arg("table").none());
}

}  // namespace tensortap::python
