// Any text is a condition or an error with a column; a condition answers for any record without a crash, the same each time.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "plan/where.h"

namespace tensortap {
namespace {

// The last bytes of the input are a record: hostile numbers in every field.
RecordRow row_from(std::string_view bytes) {
  RecordRow row;
  static_assert(std::is_trivially_copyable_v<RecordRow>);
  std::memcpy(static_cast<void*>(&row), bytes.data(), bytes.size() < sizeof(row) ? bytes.size() : sizeof(row));
  return row;
}

void check(std::string_view input) {
  const size_t record_bytes = input.size() / 2 < sizeof(RecordRow) ? input.size() / 2 : sizeof(RecordRow);
  const std::string_view text = input.substr(0, input.size() - record_bytes);
  for (const std::string_view expression : {text, input}) {
    const auto parsed = WhereExpression::parse(expression);
    if (!parsed.ok()) {
      if (!parsed.status().message().starts_with("column ")) std::abort();
      continue;
    }
    OpInfo op;
    op.name = "conv_1";
    op.type = "Conv";
    const RecordRow row = row_from(input.substr(text.size()));
    if ((*parsed)->matches(row, op) != (*parsed)->matches(row, op)) std::abort();
    const auto again = WhereExpression::parse((*parsed)->text());
    if (!again.ok() || (*again)->matches(row, op) != (*parsed)->matches(row, op)) std::abort();
  }
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensortap::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
