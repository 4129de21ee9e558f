// The records of a dump as tables: columns of NumPy, and a stream of Arrow's C data interface.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "format/arrow/arrow_stream.h"
#include "table/record_columns.h"

namespace nb = nanobind;

namespace tensortap::python {
namespace {

constexpr size_t kBatchRows = size_t{1} << 16;

// Makes the batches of a stream one after the other, so that the table is never there twice.
class FrameBatches {
 public:
  explicit FrameBatches(std::shared_ptr<const DumpIndex> dump) : dump_(std::move(dump)), columns_(frame_columns(*dump_)) {}

  [[nodiscard]] std::vector<ColumnSpec> specs() const {
    std::vector<ColumnSpec> specs;
    for (const RecordColumn& column : columns_) specs.push_back(column.spec);
    return specs;
  }

  Result<std::optional<std::vector<Column>>> next() {
    const size_t rows = dump_->rows().size();
    if (done_ == rows) return std::optional<std::vector<Column>>();
    std::vector<uint32_t> numbers(std::min(kBatchRows, rows - done_));
    std::iota(numbers.begin(), numbers.end(), static_cast<uint32_t>(done_));
    done_ += numbers.size();
    return std::optional(make_columns(columns_, {*dump_, numbers}));
  }

 private:
  std::shared_ptr<const DumpIndex> dump_;
  std::vector<RecordColumn> columns_;
  size_t done_ = 0;
};

void release_capsule(PyObject* capsule) {
  auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

template <class T>
nb::object array_of(Column column) {
  auto kept = std::make_unique<std::vector<std::byte>>(std::move(column.values));
  const nb::capsule owner(kept.get(), [](void* pointer) noexcept { delete static_cast<std::vector<std::byte>*>(pointer); });
  std::vector<std::byte>& values = *kept.release();  // the capsule has it
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(values.data(), {values.size() / sizeof(T)}, owner));
}

nb::object numbers_of(ColumnType type, Column column) {
  switch (type) {
    case ColumnType::kUInt8:
    case ColumnType::kFlag:
      return array_of<uint8_t>(std::move(column));
    case ColumnType::kUInt16:
      return array_of<uint16_t>(std::move(column));
    case ColumnType::kInt32:
      return array_of<int32_t>(std::move(column));
    case ColumnType::kUInt64:
      return array_of<uint64_t>(std::move(column));
    case ColumnType::kInt64:
      return array_of<int64_t>(std::move(column));
    case ColumnType::kDouble:
      return array_of<double>(std::move(column));
    default:
      return array_of<uint32_t>(std::move(column));
  }
}

// The objects that the numbers of a column of texts or lists index; None if the numbers are the values.
nb::object objects_of(ColumnType type, const Column& column) {
  nb::list objects;
  for (const std::string& text : column.texts) objects.append(to_str(text));
  for (const std::vector<int64_t>& sizes : column.lists) {
    nb::list list;
    for (const int64_t size : sizes) list.append(size);
    objects.append(list);
  }
  return type == ColumnType::kText || type == ColumnType::kSizes ? nb::object(objects) : nb::none();
}

}  // namespace

nb::object arrow_stream_of(const std::shared_ptr<const DumpIndex>& dump) {
  auto stream = std::make_unique<ArrowArrayStream>();
  {
    const nb::gil_scoped_release release;
    const auto batches = std::make_shared<FrameBatches>(dump);
    make_arrow_stream(
        batches->specs(), [batches] { return batches->next(); }, *stream);
  }
  nb::object capsule = nb::steal(PyCapsule_New(stream.get(), "arrow_array_stream", release_capsule));
  stream.release();  // NOLINT(bugprone-unused-return-value): the capsule has it
  return capsule;
}

nb::list frame_of(const DumpIndex& dump) {
  std::vector<RecordColumn> columns;
  std::vector<Column> made;
  {
    const nb::gil_scoped_release release;
    std::vector<uint32_t> numbers(dump.rows().size());
    std::iota(numbers.begin(), numbers.end(), 0U);
    columns = frame_columns(dump);
    made = make_columns(columns, {dump, numbers});
  }
  nb::list frame;
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnType type = columns[i].spec.type;
    const nb::object objects = objects_of(type, made[i]);
    frame.append(nb::make_tuple(columns[i].spec.name, numbers_of(type, std::move(made[i])), objects));
  }
  return frame;
}

}  // namespace tensortap::python
