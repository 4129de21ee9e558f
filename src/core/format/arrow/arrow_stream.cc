#include "format/arrow/arrow_stream.h"

#include <cerrno>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "format/arrow/arrow_buffers.h"

namespace tensortap {
namespace {

// What a schema borrows from; its children are released with it unless their reader moved them away.
struct SchemaOwner {
  std::string format;
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> places;
};

void release_schema(ArrowSchema* schema) {
  for (int64_t i = 0; i < schema->n_children; ++i) {
    ArrowSchema* child = schema->children[i];
    if (child->release != nullptr) child->release(child);
  }
  delete static_cast<SchemaOwner*>(schema->private_data);
  schema->release = nullptr;
}

void fill_schema(std::string format, std::string name, bool nullable, std::vector<ArrowSchema> children, ArrowSchema& schema) {
  auto owner = std::make_unique<SchemaOwner>(SchemaOwner{std::move(format), std::move(name), std::move(children), {}});
  for (ArrowSchema& child : owner->children) owner->places.push_back(&child);
  schema = {owner->format.c_str(),
            owner->name.c_str(),
            nullptr,
            nullable ? kArrowNullable : 0,
            static_cast<int64_t>(owner->places.size()),
            owner->places.data(),
            nullptr,
            release_schema,
            owner.get()};
  owner.release();  // NOLINT(bugprone-unused-return-value): the schema has it
}

struct ArrayOwner {
  ArrowBuffers content;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> places;
};

void release_array(ArrowArray* array) {
  for (int64_t i = 0; i < array->n_children; ++i) {
    ArrowArray* child = array->children[i];
    if (child->release != nullptr) child->release(child);
  }
  delete static_cast<ArrayOwner*>(array->private_data);
  array->release = nullptr;
}

void fill_array(ArrowBuffers content, ArrowArray& array) {
  auto owner = std::make_unique<ArrayOwner>();
  owner->children.resize(content.children.size());
  for (size_t i = 0; i < content.children.size(); ++i) {
    fill_array(std::move(content.children[i]), owner->children[i]);
    owner->places.push_back(&owner->children[i]);
  }
  owner->content = std::move(content);
  for (size_t i = 0; i < owner->content.buffers.size(); ++i) {
    const std::vector<std::byte>& buffer = owner->content.buffers[i];
    const bool is_all_valid = i == 0 && owner->content.nulls == 0;
    owner->buffers.push_back(is_all_valid ? nullptr : buffer.data());
  }
  array = {static_cast<int64_t>(owner->content.length),
           static_cast<int64_t>(owner->content.nulls),
           0,
           static_cast<int64_t>(owner->buffers.size()),
           static_cast<int64_t>(owner->places.size()),
           owner->buffers.data(),
           owner->places.data(),
           nullptr,
           release_array,
           owner.get()};
  owner.release();  // NOLINT(bugprone-unused-return-value): the array has it
}

struct StreamOwner {
  std::vector<ColumnSpec> columns;
  NextBatch next;
  std::string error;
};

StreamOwner& owner_of(ArrowArrayStream* stream) { return *static_cast<StreamOwner*>(stream->private_data); }

// Runs `work` where an exception would end the program of the reader: only memory can run out.
template <class Work>
int guarded_call(StreamOwner& owner, const Work& work) {
  try {
    const Status status = work();
    if (status.ok()) return 0;
    owner.error = status.message();
    return status.code() == StatusCode::kExhausted ? ENOMEM : EIO;
  } catch (const std::bad_alloc&) {
    owner.error.clear();
    return ENOMEM;
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* schema) {
  StreamOwner& owner = owner_of(stream);
  return guarded_call(owner, [&] {
    std::vector<ArrowSchema> children(owner.columns.size());
    for (size_t i = 0; i < children.size(); ++i) {
      const ColumnSpec& column = owner.columns[i];
      std::vector<ArrowSchema> items(column.type == ColumnType::kSizes ? 1 : 0);
      if (!items.empty()) fill_schema(std::string(arrow_format(ColumnType::kInt64)), "item", true, {}, items.front());
      fill_schema(std::string(arrow_format(column.type)), column.name, true, std::move(items), children[i]);
    }
    fill_schema("+s", "", false, std::move(children), *schema);
    return Status();
  });
}

Status fill_next(StreamOwner& owner, ArrowArray& array) {
  array = {};
  TENSORTAP_ASSIGN_OR_RETURN(std::optional<std::vector<Column>> batch, owner.next());
  if (!batch) return {};
  ArrowBuffers table;
  table.buffers.resize(1);
  for (size_t i = 0; i < batch->size(); ++i) {
    TENSORTAP_ASSIGN_OR_RETURN(ArrowBuffers column, arrow_buffers(owner.columns[i].type, std::move((*batch)[i])));
    table.length = column.length;
    table.children.push_back(std::move(column));
  }
  fill_array(std::move(table), array);
  return {};
}

int get_next(ArrowArrayStream* stream, ArrowArray* array) {
  StreamOwner& owner = owner_of(stream);
  return guarded_call(owner, [&] { return fill_next(owner, *array); });
}

const char* get_last_error(ArrowArrayStream* stream) {
  const std::string& error = owner_of(stream).error;
  return error.empty() ? nullptr : error.c_str();
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamOwner*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

void make_arrow_stream(std::vector<ColumnSpec> columns, NextBatch next, ArrowArrayStream& stream) {
  auto owner = std::make_unique<StreamOwner>(StreamOwner{std::move(columns), std::move(next), {}});
  stream = {get_schema, get_next, get_last_error, release_stream, owner.get()};
  owner.release();  // NOLINT(bugprone-unused-return-value): the stream has it
}

}  // namespace tensortap
