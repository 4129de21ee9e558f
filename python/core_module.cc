// The extension module tensortap._core.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.h"
#include "tensor/dtype.h"
#include "trace/record_row.h"

namespace nb = nanobind;

namespace tensortap::python {
namespace {

const char* code_name(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid_argument";
    case StatusCode::kNotFound:
      return "not_found";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kCorrupt:
      return "corrupt";
    case StatusCode::kIo:
      return "io";
    case StatusCode::kExhausted:
      return "exhausted";
    case StatusCode::kInternal:
      break;
  }
  return "internal";
}

void translate_error(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const StatusError& error) {
    const nb::object type = nb::module_::import_("tensortap._error").attr("Error");
    const std::string& message = error.status.message();
    const nb::object text = nb::steal(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
    const nb::object value = type(text, code_name(error.status.code()));
    PyErr_SetObject(type.ptr(), value.ptr());
  }
}

std::vector<std::tuple<std::string, std::string, int, bool>> dtype_table() {
  std::vector<std::tuple<std::string, std::string, int, bool>> table;
  for (int number = 0; number < kDTypeCount; ++number) {
    const DTypeInfo& info = dtype_info(static_cast<DType>(number));
    table.emplace_back(info.name, info.numpy_descr, info.bits, info.is_raw_in_numpy);
  }
  return table;
}

std::vector<std::tuple<std::string, std::string, uint32_t, uint32_t>> record_columns() {
  std::vector<std::tuple<std::string, std::string, uint32_t, uint32_t>> columns;
  for (const RecordField& field : record_fields()) columns.emplace_back(field.name, field.numpy_type, field.offset, field.count);
  return columns;
}

}  // namespace
}  // namespace tensortap::python

NB_MODULE(_core, module) {
  using namespace tensortap::python;
  nb::register_exception_translator(translate_error);
  module.def("version", [] { return TENSORTAP_VERSION; });
  module.def("dtype_table", dtype_table);
  module.def("record_fields", record_columns);
  module.def("row_bytes", [] { return sizeof(tensortap::RecordRow); });
  bind_dump(module);
  bind_report(module);
  bind_run(module);
  bind_topology(module);
}
