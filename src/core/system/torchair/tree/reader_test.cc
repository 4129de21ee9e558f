// Trees made here, one property each; the real one is in tests/torchair_fx_dump_test.py.

#include "system/torchair/tree/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstring>

#include "base/files.h"
#include "base/text.h"
#include "tree/tree_fixture.h"

namespace tensortap::torchair {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kStep = "worldsize2_global_rank1/graph_3/4";

class FxTrees : public TreeFixture {
 protected:
  // One element; the time in microseconds.
  void add(std::string_view stem, int time, float value, std::string_view folder = kStep) {
    const std::string digits = concat(1000000 + time).substr(1);
    write(concat(folder, "/", stem, ".20261120212300", digits, ".npy"), tensor_file({value}));
  }
  std::unique_ptr<DumpIndex> open(const std::string& below = "") {
    auto dump = open_tree(join_path(folder_.path(), below));
    EXPECT_TRUE(dump.ok()) << dump.status().message();
    return *std::move(dump);
  }
};

TEST_F(FxTrees, AreRecordsInTheOrderOfTimeWithInputsFirst) {
  add("relu-aten.relu.default.OUTPUT.0", 20, 1);
  add("relu-aten.relu.default.INPUT.0", 20, -1);
  add("cat-aten.cat.default.INPUT.0.1", 10, 2);
  add("cat-aten.cat.default.INPUT.0.0", 10, 1);
  add("cat-aten.cat.default.INPUT.1", 10, 0);
  const auto dump = open();
  EXPECT_THAT(names(*dump), ElementsAre("cat:in0@4[0]", "cat:in0@4[1]", "cat:in1@4", "relu:in0@4", "relu:out0@4"));
  EXPECT_EQ(dump->rows()[0].rank, 1);
  EXPECT_EQ(dump->rows()[0].time_ns, 0);
  EXPECT_EQ(dump->rows()[3].time_ns, 10000);
  EXPECT_EQ(dump->ops()[0].type, "cat");
  EXPECT_EQ(dump->ops()[0].domain, "aten");
  EXPECT_EQ(dump->ops()[0].graph, "graph_3");
  EXPECT_EQ(attribute_text(dump->ops()[0], "overload"), "default");
  const auto data = dump->data(4);
  ASSERT_TRUE(data.ok()) << data.status().message();
  float value = 0;
  std::memcpy(&value, data->view.data, sizeof(value));
  EXPECT_EQ(value, 1);
  EXPECT_EQ(dump->file(4), concat(kStep, "/relu-aten.relu.default.OUTPUT.0.20261120212300000020.npy"));
  EXPECT_THAT(dump->problems(), IsEmpty());
}

TEST_F(FxTrees, AreTheSameAtEveryLevel) {
  add("relu-aten.relu.default.INPUT.0", 20, -1);
  for (const char* level : {"", "worldsize2_global_rank1", "worldsize2_global_rank1/graph_3", "worldsize2_global_rank1/graph_3/4"}) {
    const auto dump = open(level);
    EXPECT_THAT(names(*dump), ElementsAre("relu:in0@4")) << level;
    EXPECT_EQ(dump->rows()[0].rank, 1) << level;
    EXPECT_EQ(dump->ops()[0].graph, "graph_3") << level;
    EXPECT_EQ(recognise_tree(join_path(folder_.path(), level)), Confidence::kCertain) << level;
  }
}

TEST_F(FxTrees, TellStepsGraphsAndExecutionsApart) {
  add("add-aten.add.Tensor.OUTPUT.0", 5, 1, "graph_1/0");
  add("add-aten.add.Tensor.OUTPUT.0", 7, 2, "graph_1/0");
  add("add-aten.add.Tensor.OUTPUT.0", 3, 3, "graph_1/10");
  add("add-aten.add.Tensor.OUTPUT.0", 9, 4, "graph_2/0");
  const auto dump = open();
  EXPECT_THAT(names(*dump), ElementsAre("add:out0", "add:out0#1", "graph_2/add:out0", "add:out0@10"));
  EXPECT_EQ(dump->rows()[3].time_ns, 0);
}

TEST_F(FxTrees, WithoutTensorsAreNone) {
  write(concat(kStep, "/relu-aten.relu.default.INPUT.0.npy"), tensor_file({1}));
  write("else/relu-aten.relu.default.INPUT.0.20261120212300000000.npy", tensor_file({1}));
  EXPECT_EQ(recognise_tree(folder_.path()), Confidence::kNo);
  const auto dump = open_tree(folder_.path());
  EXPECT_EQ(dump.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(dump.status().message(), HasSubstr("NODE-TARGET.INPUT.I.TIME.npy"));
}

TEST_F(FxTrees, SayWhatIsLeftOut) {
  add("relu-aten.relu.default.INPUT.0", 20, -1);
  write(concat(kStep, "/relu-aten.relu.default.INPUT.1.20261120212300000020.npy"), tensor_file({}, "'|O'"));
  write(concat(kStep, "/relu-aten.relu.default.INPUT.2.20261120212300000020.npy"), tensor_file({}, "'<U5'"));
  write(concat(kStep, "/relu-aten.relu.default.INPUT.3.20261120212300000020.npy"), "no npy file");
  write(concat(kStep, "/notes.txt"), "");
  const std::string cut = tensor_file({1, 2, 3});
  write(concat(kStep, "/relu-aten.relu.default.OUTPUT.0.20261120212300000020.npy"), std::string_view(cut).substr(0, cut.size() - 5));
  const auto dump = open();
  EXPECT_THAT(names(*dump), ElementsAre("relu:in0@4", "relu:out0@4"));
  EXPECT_EQ(dump->data(1).status().code(), StatusCode::kCorrupt);
  const std::string problems = join(std::vector<std::string>(dump->problems().begin(), dump->problems().end()), "\n");
  EXPECT_THAT(problems, HasSubstr("2 files hold no tensor but None or text"));
  EXPECT_THAT(problems, HasSubstr("INPUT.3.20261120212300000020.npy: "));
  EXPECT_THAT(problems, HasSubstr("cut short: 7 of 12 bytes"));
  EXPECT_THAT(problems, HasSubstr("1 entry is no part of a dump and skipped: \"notes.txt\""));
}

TEST_F(FxTrees, DoNotWaitForAPipe) {
  add("relu-aten.relu.default.INPUT.0", 20, -1);
  ASSERT_EQ(::mkfifo(join_path(folder_.path(), concat(kStep, "/a-b.INPUT.0.20261120212300000020.npy")).c_str(), 0600), 0);
  EXPECT_THAT(names(*open()), ElementsAre("relu:in0@4"));
}

}  // namespace
}  // namespace tensortap::torchair
