#include "find/suspects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "trace/vector_dump_index.h"

namespace tensortap {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A chain of ops, each with the given inputs; statistics of one step.
struct ChainDump : VectorDumpIndex {
  OpId add_value(std::string type, std::vector<std::string> inputs, double min, double max) {
    OpInfo info;
    info.name = type + std::to_string(all_ops.size());
    info.type = std::move(type);
    for (std::string& input : inputs) info.inputs.push_back({std::move(input), kNoOp, 0});
    info.outputs = {"v" + std::to_string(all_ops.size())};
    const OpId id = add_op(std::move(info));
    RecordRow row;
    row.op = id;
    row.sequence = all_rows.size();
    row.set_desc({DType::kFloat32, {4, 4}});
    row.stats.valid = kStatFull;
    row.stats.count = 16;
    row.stats.min = min;
    row.stats.max = max;
    row.stats.absmax = std::max(-min, max);
    row.stats.zero = min == 0 && max == 0 ? 16 : 0;
    add(row);
    return id;
  }
  [[nodiscard]] std::vector<std::string> suspects() const {
    std::vector<std::string> names;
    for (const Suspect& one : find_suspects(*this)) names.push_back(all_ops[one.op].name);
    return names;
  }
};

TEST(Suspects, AreTheOpsThatMakeZerosOfOtherValues) {
  ChainDump dump;
  dump.add_value("randn", {}, -1, 1);           // v0
  dump.add_value("relu", {"v0"}, 0, 0);         // v1, dead
  dump.add_value("mul", {"v1", "v0"}, 0, 0);    // of zeros
  dump.add_value("zeros_like", {"v0"}, 0, 0);   // there to be zeros
  dump.add_value("addmm", {"v3", "v0"}, 0, 0);  // of zeros, too
  dump.add_value("slice", {"v0"}, 0, 0);        // the zeros are in what it shows
  EXPECT_THAT(dump.suspects(), ElementsAre("relu1"));
}

TEST(Suspects, AMaskMadeOfEqualNumbersIsNone) {
  ChainDump dump;
  dump.add_value("_to_copy", {}, 1, 1);  // v0
  dump.add_value("rsub", {"v0"}, 0, 0);  // v1: nothing is masked
  dump.add_value("relu", {"v0"}, 0, 0);  // an activation is always worth a look
  EXPECT_THAT(dump.suspects(), ElementsAre("relu2"));
}

TEST(Suspects, OptimizersAndWholeAndSingleNumbersAreNone) {
  for (const int one : {0, 1, 2, 3}) {
    ChainDump dump;
    dump.add_value("randn", {}, -1, 1);
    dump.add_value("lerp_", {"v0"}, 0, 0);
    if (one == 0) dump.all_rows[1].phase = static_cast<uint8_t>(Phase::kUpdate);
    if (one == 1) dump.all_rows[1].set_desc({DType::kInt64, {4, 4}});
    if (one == 2) dump.all_rows[1].set_desc({DType::kFloat32, {1}});
    dump.all_rows[1].stats.zero = dump.all_rows[1].numel;
    EXPECT_EQ(dump.suspects().size(), one == 3 ? 1U : 0U) << one;
  }
}

TEST(Suspects, AnOutputThatNothingReadsBesideOneThatIsReadIsNone) {
  ChainDump dump;
  dump.add_value("randn", {}, -1, 1);
  const OpId two = dump.add_value("norm", {"v0"}, -1, 1);
  dump.all_ops[two].outputs.emplace_back("other");
  RecordRow second = dump.all_rows.back();
  second.slot_index = 1;
  second.stats.min = second.stats.max = second.stats.absmax = 0;
  second.stats.zero = 16;
  dump.add(second);
  EXPECT_THAT(dump.suspects(), ElementsAre("norm1")) << "it may be what the program wants";
  dump.add_value("add", {"v1"}, -1, 1);
  EXPECT_THAT(dump.suspects(), IsEmpty());
}

}  // namespace
}  // namespace tensortap
