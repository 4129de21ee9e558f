// docs/layouts/tap.md is the authority on the columns: it has to list those that the code writes.

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "trace/record_row.h"

namespace tensortap::tap {
namespace {

TEST(TapDocument, DescribesEveryColumn) {
  const auto text = read_file(concat(TENSORTAP_TESTDATA, "/../docs/layouts/tap.md"));
  ASSERT_TRUE(text.ok());
  for (const RecordField& field : record_fields()) {
    const std::string count = field.count > 1 ? concat(" x ", field.count) : "";
    const std::string row = concat("| `", field.name, "` | ", field.offset, " | `", field.numpy_type, "`", count, " | ");
    EXPECT_NE(text->find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace tensortap::tap
