#include "system/ascend/tree/file_names.h"

#include <gtest/gtest.h>

namespace tensortap::ascend {
namespace {

struct NameCase {
  const char* text;
  const char* type;
  const char* name;
  uint64_t task;
  uint64_t stream;
  uint64_t time;
  bool exception = false;
  bool statistic = false;
};

TEST(GeNames, SayWhatTheyAre) {
  const NameCase cases[] = {
      {"Add.model_add.0.7.1763668800000000", "Add", "model_add", 0, 7, 1763668800000000},
      {"Add.model_add.0.7.1763668800000000.csv", "Add", "model_add", 0, 7, 1763668800000000, false, true},
      {"Add.captured.0.12.3.1763668800000039", "Add", "captured", 12, 3, 1763668800000039},
      {"Conv2D.c.5.6.1763668800000039.4.1.2.0", "Conv2D", "c", 5, 6, 1763668800000039},
      {"Conv2D.c.5.6.1763668800000039.FFTSPLUS.1.2.0", "Conv2D", "c", 5, 6, 1763668800000039},
      {"ConcatV2D.concatv2.0.0.550288648", "ConcatV2D", "concatv2", 0, 0, 550288648},
      {"Opdebug.Node_OpDebug.42.7.1763668800000042", "Opdebug", "Node_OpDebug", 42, 7, 1763668800000042},
      {"Mul.12.3.4.1763668800000042", "Mul", "12", 3, 4, 1763668800000042},
      {"Relu.net.block.relu.1.2.1763668800000042", "Relu", "net.block.relu", 1, 2, 1763668800000042},
      {"Div.div_3.12.20261121080311123", "Div", "div_3", 12, 0, 20261121080311123, true},
      {"exception_info.3.12.20261121080311123", "exception_info", "exception_info", 12, 3, 20261121080311123, true},
      {"exception_info.3.12.1763668800000042", "exception_info", "exception_info", 12, 3, 1763668800000042, true},
      {"Aé:b.name-with:odd*chars.1.2.1763668800000042", "Aé:b", "name-with:odd*chars", 1, 2, 1763668800000042},
  };
  for (const NameCase& expected : cases) {
    const auto found = parse_file_name(expected.text);
    ASSERT_TRUE(found.has_value()) << expected.text;
    EXPECT_EQ(found->type, expected.type) << expected.text;
    EXPECT_EQ(found->name, expected.name) << expected.text;
    EXPECT_EQ(found->task, expected.task) << expected.text;
    EXPECT_EQ(found->stream, expected.stream) << expected.text;
    EXPECT_EQ(found->time, expected.time) << expected.text;
    EXPECT_EQ(found->exception, expected.exception) << expected.text;
    EXPECT_EQ(found->statistic, expected.statistic) << expected.text;
  }
}

TEST(GeNames, OthersAreNone) {
  for (const char* text : {"", ".", "a", "a.b", "1.2.3", "mapping.csv", "Add.a.1.2", "Add.a.1.x.1763668800000042",
                           ".a.1.2.1763668800000042", "Add..1.2.1763668800000042", "Add.a.1.2.1763668800000042.output.0.npy",
                           "99999999999999999999999", "Add.a.1.2.99999999999999999999999", "a/b.c.1.2.1763668800000042"}) {
    EXPECT_FALSE(parse_file_name(text).has_value()) << text;
  }
}

TEST(GeNames, AreCleanedOfWhatSeparates) {
  EXPECT_EQ(clean_name("a b.c/d\\e"), "a_b_c_d_e");
  EXPECT_EQ(clean_name("keeps:*?[]ö-_"), "keeps:*?[]ö-_");
  EXPECT_EQ(clean_name("a\nb\x7f"), "a_b_");
  EXPECT_EQ(clean_name("a\u202eb\x9b"), "a_b_") << "marks of direction, and bytes that are no UTF-8";
  EXPECT_EQ(clean_name(""), "_");
}

}  // namespace
}  // namespace tensortap::ascend
