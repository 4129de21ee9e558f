// Trees made here, one property each; the real ones are in tests/mindspore_trees_test.py.

#include "system/mindspore/tree/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/protobuf.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "system/mindspore/tree/tree_graphs.h"
#include "tree/tree_fixture.h"

namespace tensortap::mindspore {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MindSporeTrees : public TreeFixture {
 protected:
  // An output of one element in step 0.
  void add(const std::string& op, uint64_t time, float value, const std::string& folder = "rank_0/Net/0/0") {
    write(concat(folder, "/", op, ".0.0.", time, ".output.0.DefaultFormat.Float32.npy"), tensor_file({value}));
  }
  std::unique_ptr<DumpIndex> open(const std::string& below = "") {
    auto dump = open_tree(join_path(folder_.path(), below));
    EXPECT_TRUE(dump.ok()) << dump.status().message();
    return *std::move(dump);
  }
  // The value that a name leads to, as a person would ask for it.
  static float value(const DumpIndex& dump, const std::string& name) {
    RecordKey key;
    EXPECT_TRUE(parse_record_name(name, key));
    const auto row = find_record(dump, key);
    EXPECT_TRUE(row.ok()) << name;
    if (!row.ok()) return -1;
    const auto data = dump.data(*row);
    EXPECT_TRUE(data.ok()) << data.status().message();
    float first = -1;
    if (data.ok()) std::memcpy(&first, data->view.data, sizeof(first));
    return first;
  }
};

TEST_F(MindSporeTrees, ExecutionsOfOneStepAreCallsInTheOrderOfTime) {
  add("Mul.Default_Mul-op0", 30, 3);
  add("Mul.Default_Mul-op0", 4, 1);
  add("Mul.Default_Mul-op0", 20, 2);
  const auto dump = open();
  EXPECT_THAT(names(*dump), ElementsAre("Default_Mul-op0:out0", "Default_Mul-op0:out0#1", "Default_Mul-op0:out0#2"));
  EXPECT_EQ(value(*dump, "Default_Mul-op0:out0"), 1);
  EXPECT_EQ(value(*dump, "Default_Mul-op0:out0#1"), 2);
  EXPECT_EQ(value(*dump, "Default_Mul-op0:out0#2"), 3);
}

TEST_F(MindSporeTrees, AnInputThatIsMissingInOneExecutionDoesNotShiftTheOthers) {
  const auto input = [&](int slot, uint64_t time, float value) {
    write(concat("rank_0/Net/0/0/Mul.M-op0.0.0.", time, ".input.", slot, ".DefaultFormat.npy"), tensor_file({value}));
  };
  input(0, 1, 10);
  add("Mul.M-op0", 2, 11);
  input(0, 3, 20);
  input(1, 4, 21);
  add("Mul.M-op0", 5, 22);
  const auto dump = open();
  EXPECT_THAT(names(*dump), ElementsAre("M-op0:in0", "M-op0:out0", "M-op0:in0#1", "M-op0:in1#1", "M-op0:out0#1"));
}

TEST_F(MindSporeTrees, EqualNamesInSeveralGraphsAndRanksAreToldApart) {
  add("Add.Add-op0", 1, 1, "rank_0/Net/0/0");
  add("Add.Add-op0", 2, 2, "rank_0/Net/1/0");
  add("Add.Add-op0", 3, 3, "rank_3/Net/0/0");
  const auto dump = open();
  EXPECT_EQ(value(*dump, "Add-op0"), 1);
  EXPECT_EQ(value(*dump, "rank_0/1/Add-op0"), 2);
  EXPECT_EQ(value(*dump, "rank_3/0/Add-op0"), 3);
  EXPECT_EQ(dump->rows()[2].rank, 3);
  EXPECT_EQ(dump->rows()[2].run, 1U);
  EXPECT_EQ(names(*open("rank_0/Net/1")).size(), 1U);
}

TEST_F(MindSporeTrees, StatisticsWithoutFilesAreRecords) {
  write("rank_0/Net/0/4/statistic.csv",
        "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,SHA1\n"
        "Add,Default/net/Add-op0,0,0,7,output,0,24,float32,\"[2,3]\",6,5ba93c9db0cff93f52b521d7420e43f6eda2784f,\n");
  const auto dump = open();
  EXPECT_THAT(names(*dump), ElementsAre("Default/net/Add-op0:out0@4"));
  const RecordRow& row = dump->rows()[0];
  EXPECT_EQ(row.stats.max, 6);
  EXPECT_EQ(row.bytes, 24U);
  EXPECT_EQ(row.digest_kind, 3);
  EXPECT_EQ(row.digest[0], 0x5b);
  EXPECT_EQ(row.flags, 0);
  EXPECT_EQ(dump->data(0).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(dump->file(0), "rank_0/Net/0/4/statistic.csv");
}

TEST_F(MindSporeTrees, StatisticsStayWhereTheFileIsDamaged) {
  write("rank_0/Net/0/0/Add.Default_net_Add-op0.0.0.7.output.0.DefaultFormat.Float32.npy", "");
  write("rank_0/Net/0/0/statistic.csv",
        "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value\n"
        "Add,Default/net/Add-op0,0,0,7,output,0,4,float32,\"(1)\",6,\n");
  const auto dump = open();
  ASSERT_EQ(dump->rows().size(), 1U);
  EXPECT_EQ(dump->rows()[0].stats.max, 6);
  EXPECT_EQ(dump->rows()[0].flags, kRecordDataLost);
  EXPECT_EQ(dump->data(0).status().code(), StatusCode::kNotFound);
  EXPECT_THAT(dump->problems(), ElementsAre(HasSubstr("the file is empty")));
}

TEST_F(MindSporeTrees, CutFilesKeepTheirRow) {
  write("rank_0/Net/0/0/Add.A-op0.0.0.7.output.0.DefaultFormat.npy", tensor_file({1, 2}).substr(0, 130));
  const auto dump = open();
  ASSERT_EQ(dump->rows().size(), 1U);
  EXPECT_EQ(dump->rows()[0].flags, kRecordDataLost);
  EXPECT_EQ(dump->data(0).status().code(), StatusCode::kCorrupt);
  EXPECT_THAT(dump->problems(), ElementsAre(HasSubstr("2 of 8 bytes")));
  EXPECT_FALSE(dump->data(1).ok());
}

TEST_F(MindSporeTrees, LinksPipesAndFoldersUnderTensorNamesDoNoHarm) {
  add("Add.A-op0", 1, 5);
  const std::string iteration = join_path(folder_.path(), "rank_0/Net/0/0");
  std::filesystem::create_symlink("Add.A-op0.0.0.1.output.0.DefaultFormat.Float32.npy",
                                  iteration + "/Add.A-op1.0.0.2.output.0.DefaultFormat.npy");
  std::filesystem::create_symlink("/dev/zero", iteration + "/Add.A-op2.0.0.2.output.0.DefaultFormat.npy");
  std::filesystem::create_symlink("nowhere", iteration + "/Add.A-op3.0.0.2.output.0.DefaultFormat.npy");
  std::filesystem::create_directory(iteration + "/Add.A-op4.0.0.2.output.0.DefaultFormat.npy");
  std::filesystem::create_symlink("../../..", iteration + "/9");
  ASSERT_EQ(mkfifo((iteration + "/Add.A-op5.0.0.2.output.0.DefaultFormat.npy").c_str(), 0600), 0);
  const auto dump = open();
  EXPECT_THAT(names(*dump), ElementsAre("A-op0:out0", "A-op1:out0"));
  EXPECT_EQ(value(*dump, "A-op1"), 5);
  for (const char* name : {"A-op2", "A-op3", "A-op4", "A-op5"}) EXPECT_THAT(dump->problems(), Contains(HasSubstr(name)));
}

TEST_F(MindSporeTrees, KernelArgumentsAreAttributes) {
  add("Add.Default_net_Add-op0", 1, 5);
  write("rank_0/Net/0/0/Add.Default_net_Add-op0.json", "{\n    \"axis\": \"1\"\n}");
  write("rank_0/Net/0/0/Mul.Default_net_Mul-op0.json", "{}");
  write("rank_0/Net/0/0/Mul.Default_net_Mul-op1.json", "{\"a\":");
  const auto dump = open();
  EXPECT_EQ(dump->ops()[0].attributes, R"({"axis":"1"})");
  EXPECT_THAT(dump->problems(), testing::UnorderedElementsAre(HasSubstr("Mul-op0.json: the dump has no op"), HasSubstr("Mul-op1.json")));
}

// M16
TEST_F(MindSporeTrees, AnOverflowIsOfTheOpWithItsTaskAndStream) {
  const std::string step = "0/20260102030405/0/net/1/0/";
  write(step + "Exp.E-op0.4.7.1.output.0.ND.npy", tensor_file({1}));
  write(step + "Neg.N-op1.5.7.2.output.0.ND.npy", tensor_file({1}));
  write(step + "Opdebug.Node_OpDebug.9.7.3.output.0.json",
        R"({"AI Core":{"status":1,"stream_id":7,"task_id":5},"DHA Atomic Add":{"status":0,"stream_id":7,"task_id":4}})");
  write(".tensortap/20260102030405.0.net.json", R"({"records":2})");
  const auto dump = open();
  EXPECT_THAT(dump->problems(), IsEmpty());
  EXPECT_EQ(op_of(*dump, dump->rows()[1]).type, "Neg");
  EXPECT_EQ(dump->manifest(), R"({"records":2,"overflowed_ops":[{"op":"N-op1","step":0,"call":0,"rank":0}]})");
  write(step + "Opdebug.Node_OpDebug.9.7.4.output.0.json", "[1]");
  write(step + "Opdebug.Node_OpDebug.9.7.5.output.0.json", "{");
  EXPECT_EQ(open()->problems().size(), 2U);
}

TEST_F(MindSporeTrees, AnEmptyIterationOfADumpIsAnEmptyDump) {
  write("rank_0/.dump_metadata/config.json", "{}");
  ASSERT_TRUE(make_directories(join_path(folder_.path(), "rank_0/Net/0/7")).ok());
  EXPECT_THAT(open("rank_0/Net/0/7")->rows(), IsEmpty());
  EXPECT_THAT(open("rank_0/Net")->problems(), IsEmpty());
}

TEST_F(MindSporeTrees, NumbersThatNoRecordCanHoldAreForeign) {
  add("Add.A-op0", 1, 5, "rank_0/Net/0/0");
  add("Add.A-op0", 1, 5, "rank_0/Net/0/99999999999999999999");
  add("Add.A-op0", 1, 5, "rank_0/Net/0/9223372036854775808");
  const auto dump = open();
  EXPECT_EQ(dump->rows().size(), 1U);
  EXPECT_THAT(dump->problems(), ElementsAre(HasSubstr("2 entries are no part of a dump")));
}

TEST_F(MindSporeTrees, OnlyDumpsAreRecognised) {
  EXPECT_EQ(recognise_tree(folder_.path()), Confidence::kNo);
  write("rank_0/records.npy", "");
  write("5/6/7/model.npy", "");
  write("notes.txt", "");
  EXPECT_EQ(recognise_tree(folder_.path()), Confidence::kNo);
  EXPECT_EQ(recognise_tree(join_path(folder_.path(), "rank_0")), Confidence::kNo);
  EXPECT_FALSE(open_tree(folder_.path()).ok());
  EXPECT_FALSE(open_tree("/nowhere").ok());
  add("Add.A-op0", 1, 5, "here/rank_0/Net/0/0");
  for (const char* level : {"here", "here/rank_0", "here/rank_0/Net", "here/rank_0/Net/0", "here/rank_0/Net/0/0"}) {
    EXPECT_EQ(recognise_tree(join_path(folder_.path(), level)), Confidence::kCertain) << level;
  }
  EXPECT_EQ(recognise_tree(folder_.path()), Confidence::kNo);
  add("Add.A-op0", 1, 5, "copied");
  EXPECT_EQ(recognise_tree(join_path(folder_.path(), "copied")), Confidence::kMaybe);
  EXPECT_EQ(open("copied")->rows().size(), 1U);
  write("empty/rank_0/.dump_metadata/config.json", "{\"ms_version\":\"2.10.0\"}");
  EXPECT_EQ(recognise_tree(join_path(folder_.path(), "empty")), Confidence::kCertain);
  EXPECT_THAT(open("empty")->problems(), IsEmpty());
}

// A node of a graph's message.
struct Node {
  std::string name;
  std::string type;
  std::string full_name;
  std::vector<std::string> inputs;
};

std::string graph_message(const std::vector<Node>& nodes) {
  std::string model;
  protozero::pbf_writer model_writer(model);
  protozero::pbf_writer graph(model_writer, 4);
  for (const Node& node : nodes) {
    protozero::pbf_writer message(graph, 1);
    for (const std::string& input : node.inputs) {
      protozero::pbf_writer edge(message, 1);
      edge.add_string(1, input);
    }
    message.add_string(2, node.name);
    message.add_string(3, node.type);
    message.add_string(8, node.full_name);
    message.add_string(9, "      # In file /home/x/net.py:12~20, 3~4/def/\n      # In file /home/x/net.py(17)/y = x/\n");
  }
  graph.commit();
  return model;
}

constexpr const char* kGraphFile = "rank_0/graphs/ms_output_trace_code_graph_0.pb";

TEST_F(MindSporeTrees, NumbersThatDisagreeAreMatchedInTheirOrder) {
  write(kGraphFile, graph_message({{"1", "Mul", "Default/a/Mul-op7", {"x"}},
                                   {"2", "Mul", "Default/a/Mul-op8", {"1"}},
                                   {"3", "Add", "Default/b/Add-op4", {"2"}}}));
  add("Mul.Default_a_Mul-op1", 2, 2);
  add("Mul.Default_a_Mul-op0", 1, 1);
  add("Add.Default_b_Add-op0", 3, 3);
  const auto dump = open();
  EXPECT_THAT(names(*dump), ElementsAre("Default/a/Mul-op0:out0", "Default/a/Mul-op1:out0", "Default/b/Add-op0:out0"));
  const OpInfo& add_op = op_of(*dump, dump->rows()[2]);
  ASSERT_EQ(add_op.inputs.size(), 1U);
  EXPECT_EQ(dump->ops()[add_op.inputs[0].producer].name, "Default/a/Mul-op1");
  EXPECT_EQ(add_op.source_location, "net.py:17");
}

TEST_F(MindSporeTrees, TuplesInACircleOrWithoutBoundEnd) {
  std::vector<Node> nodes = {{"0", "MakeTuple", "", {"0", "0"}}, {"t", "TupleGetItem", "", {"t", "t"}}};
  for (int i = 1; i < 60; ++i) nodes.push_back({std::to_string(i), "MakeTuple", "", {std::to_string(i - 1), std::to_string(i - 1)}});
  nodes.push_back({"last", "Add", "Default/Add-op0", {"59", "t"}});
  write(kGraphFile, graph_message(nodes));
  add("Add.Default_Add-op0", 1, 1);
  EXPECT_THAT(names(*open()), ElementsAre("Default/Add-op0:out0"));
}

RC_GTEST_PROP(MindSporeGraphs, OfAnyBytesAreReadOrRefused, (std::vector<uint8_t> bytes, uint16_t where)) {
  std::string message = graph_message(
      {{"1", "Mul", "Default/a/Mul-op7", {"x"}}, {"2", "TupleGetItem", "Default/a/Mul-op8", {"1", "x"}}, {"3", "Add", "b", {"2"}}});
  const std::string text(bytes.begin(), bytes.end());
  message.replace(where % message.size(), text.size() / 2, text);
  std::vector<GraphNode> nodes;
  std::vector<GraphParameter> parameters;
  std::string damage;
  read_graph_message(message, nodes, parameters, damage);
  for (const auto& node : nodes) {
    for (const auto& input : node.inputs) RC_ASSERT(input.node == kNoNode || input.node < nodes.size());
  }
}

// Whatever names and bytes a folder holds: it opens, and every row can be asked for.
RC_GTEST_PROP(MindSporeFolders, OfAnyNamesOpen, (std::map<std::string, std::string> files)) {
  const TemporaryFolder folder;
  const std::string iteration = join_path(folder.path(), "rank_0/Net/0/0");
  RC_ASSERT(make_directories(iteration).ok());
  size_t number = 0;
  for (const auto& [name, content] : files) {
    const bool tensor = number++ % 2 == 0;
    std::string file = tensor ? concat("Add.", name, ".0.0.", number, ".input.0.f.npy") : name;
    std::erase(file, '/');
    std::erase(file, '\0');
    if (file.empty() || file == "." || file == ".." || file.size() > 200) continue;
    (void)write_file_atomically(join_path(iteration, file), tensor && number % 3 == 0 ? tensor_file({1, 2}) : content);
  }
  const auto dump = open_tree(folder.path());
  if (!dump.ok()) return;
  for (size_t row = 0; row < (*dump)->rows().size(); ++row) {
    (void)(*dump)->data(row);
    RC_ASSERT(!(*dump)->file(row).empty());
  }
}

}  // namespace
}  // namespace tensortap::mindspore
