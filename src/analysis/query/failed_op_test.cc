#include "query/failed_op.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "trace/vector_dump_index.h"

namespace tensortap {
namespace {

struct FailedDump : VectorDumpIndex {
  FailedDump() {
    OpInfo op;
    op.name = "Net/embedding";
    op.type = "embedding";
    op.source_location = "train.py:7";
    add_op(op);
  }
  void record(uint8_t flags, uint32_t thread = 0) {
    RecordRow row;
    row.op = 0;
    row.step = 3;
    row.thread = thread;
    row.flags = flags;
    add(row);
  }
  std::string manifest() const override { return text; }
  std::string text = "{}";
};

TEST(FailedOp, IsWhatTheManifestSays) {
  FailedDump dump;
  dump.text = R"({"failed_op": {"name": "a", "error": "b", "caught": false}})";
  EXPECT_EQ(failed_op(dump)["name"], "a");
  EXPECT_TRUE(ended_program(failed_op(dump)));
  dump.text = R"({"failed_op": {"name": "a", "error": "b", "caught": true}})";
  EXPECT_FALSE(ended_program(failed_op(dump)));
  dump.text = R"({"failed_op": {"name": "of an older version"}})";
  EXPECT_TRUE(ended_program(failed_op(dump)));
  dump.text = R"({"failed_op": null})";
  dump.record(kRecordFailedOp);
  EXPECT_TRUE(failed_op(dump).is_null());
  for (const char* hostile : {"[", "[]", R"({"failed_op": 3})", R"({"failed_op": {"caught": "no"}})"}) {
    dump.text = hostile;
    static_cast<void>(ended_program(failed_op(dump)));
  }
}

TEST(FailedOp, HasAReason) {
  EXPECT_EQ(failure_reason(Json()), "");
  EXPECT_EQ(failure_reason({{"error", "shapes differ"}, {"exception", nullptr}}), "shapes differ");
  EXPECT_EQ(failure_reason({{"error", "the operator raised an exception"}, {"exception", "IndexError: 5"}}), "IndexError: 5");
  EXPECT_EQ(failure_reason({{"error", "the operator raised an exception: index 12"}, {"exception", "IndexError: 5"}}),
            "IndexError: 5: index 12");
  EXPECT_EQ(failure_reason({{"error", "shapes differ"}, {"exception", "Fail: no"}}), "Fail: no: shapes differ");
}

TEST(FailedOp, IsMadeOfTheRecordsOfAProcessThatLeftNoManifest) {
  FailedDump dump;
  dump.record(0);
  EXPECT_TRUE(failed_op(dump).is_null());
  EXPECT_FALSE(ended_program(failed_op(dump)));
  dump.record(kRecordFailedOp);
  dump.record(0, 1);
  const Json failed = failed_op(dump);
  EXPECT_EQ(failed["name"], "Net/embedding");
  EXPECT_EQ(failed["source"], "train.py:7");
  EXPECT_EQ(failed["step"], 3);
  EXPECT_TRUE(ended_program(failed)) << "another thread went on";
  dump.record(0);
  EXPECT_FALSE(ended_program(failed_op(dump)));
}

}  // namespace
}  // namespace tensortap
