#include <gtest/gtest.h>

#include <set>

#include "base/protobuf.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "system/mindspore/tree/graph_description.h"
#include "system/mindspore/tree/writer_golden.h"
#include "system/mindspore/tree/writer_ops.h"

namespace tensortap::mindspore {
namespace {

using Reader = protozero::pbf_reader;

// A message as text: "1:{2:abc 3:4} ", with the numbers of fields; `messages` lists the paths of those that are messages ("4", "4/1").
std::string told(const Reader& message, const std::set<std::string>& messages, const std::string& path = "") {
  Reader reader = message;
  std::string text;
  while (reader.next()) {
    const std::string here = concat(path, path.empty() ? "" : "/", reader.tag());
    text += concat(text.empty() ? "" : " ", reader.tag(), ":");
    if (messages.contains(here)) {
      text += concat("{", told(reader.get_message(), messages, here), "}");
    } else if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      text += reader.get_string();
    } else if (reader.wire_type() == protozero::pbf_wire_type::fixed64) {
      text += to_text(reader.get_double());
    } else {
      text += to_text(reader.get_int64());
    }
  }
  return text;
}

const std::set<std::string> kMessages = {
    "4",           "4/1",         "4/1/1",     "4/1/5",       "4/1/5/2",     "4/1/5/2/18",    "4/1/6",           "4/1/6/2",
    "4/1/6/2/2",   "4/1/6/2/2/1", "4/1/6/3",   "4/1/6/3/1",   "4/1/6/3/1/2", "4/1/6/3/1/2/2", "4/1/6/3/1/2/2/1", "4/3",
    "4/3/2",       "4/3/2/2",     "4/3/2/2/2", "4/3/2/2/2/1", "4/4",         "4/4/2",         "4/4/2/2",         "4/4/2/2/2",
    "4/4/2/2/2/1", "4/4/2/3",     "4/4/2/3/1", "4/4/2/3/1/2", "4/5",         "4/5/2"};

class GraphFiles : public testing::Test {
 protected:
  OpId add(const std::string& name, const std::string& type, std::vector<OpInput> inputs, std::vector<TensorDesc> seen,
           const std::string& graph = "", const std::string& attributes = "", std::vector<OriginalNode> originals = {}) {
    OpInfo op;
    op.name = name;
    op.type = type;
    op.inputs = std::move(inputs);
    op.graph = graph;
    op.outputs = {name};
    op.attributes = attributes;
    op.originals = std::move(originals);
    const OpId id = next_++;
    ops_.add(id, op);
    ops_.find(id)->seen = std::move(seen);
    return id;
  }
  static inline const Profile kProfile = *parse_profile("");
  Ops ops_{kProfile, false};
  OpId next_ = 0;
};

// M19
TEST_F(GraphFiles, ThePbOfTheGoldenAddHasTheSameFields) {
  TemporaryFolder folder;
  ASSERT_TRUE(unpack_golden_tree("2.7.0-add", folder.path()));
  const auto golden = read_file(join_path(folder.path(), "2.7.0-add/d/rank_0/graphs/ms_output_trace_code_graph_0.pb"));
  ASSERT_TRUE(golden.ok());
  const TensorDesc desc{DType::kFloat32, {2, 3}};
  const OpId x = add("x", "Input", {}, {desc});
  const OpId y = add("y", "Input", {}, {desc});
  add("add", "Add", {{"x", x, 0}, {"y", y, 0}}, {desc});
  const std::string ours = told(Reader(graph_pb(kProfile.tree(), ops_.graph())), kMessages);
  // Ours contains the inputs, outputs, types and parameters of the real one word for word.
  const std::string theirs = told(Reader(*golden), kMessages);
  for (const char* part : {"1:{1:{1:x 2:0} 1:{1:y 2:0} 2:1 3:Add 4:Default", "6:{1:14 2:{1:11 2:{1:{1:2} 1:{1:3}}}}", "2:kernel_graph0",
                           "3:{1:x 2:{1:14 2:{1:11 2:{1:{1:2} 1:{1:3}}}}} 3:{1:y 2:{1:14 2:{1:11 2:{1:{1:2} 1:{1:3}}}}}", "6:0}"}) {
    EXPECT_NE(theirs.find(part), std::string::npos) << part << "\n" << theirs;
    EXPECT_NE(ours.find(part), std::string::npos) << part << "\n" << ours;
  }
  EXPECT_NE(ours.find("8:Default/add/Add-op0"), std::string::npos);
}

TEST_F(GraphFiles, ThePbTellsAttributesTuplesAndOriginals) {
  const OpId x = add("x", "Initializer", {}, {});
  add("top", "TopK", {{"x", x, 0}}, {{DType::kBFloat16, {4}}, {DType::kInt64, {4}}}, "",
      R"({"axis": -1, "largest": true, "pads": [0, 1], "mode": "m", "alpha": 0.5})", {{"author_1", "TopK"}});
  const std::string text = told(Reader(graph_pb(kProfile.tree(), ops_.graph())), kMessages);
  EXPECT_NE(
      text.find("5:{1:axis 2:{1:5 3:-1}} 5:{1:largest 2:{1:1 2:1}} 5:{1:pads 2:{1:31 18:{1:5 3:0} 18:{1:5 3:1}}} 5:{1:mode 2:{1:13 7:m}} "
                "5:{1:alpha 2:{1:12 6:0.5}}"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("6:{1:31 3:{1:{1:14 2:{1:46 2:{1:{1:4}}}} 1:{1:14 2:{1:5 2:{1:{1:4}}}}}}"), std::string::npos) << text;
  EXPECT_NE(text.find("# Original node: (author_1, TopK)"), std::string::npos);
  EXPECT_NE(text.find("3:{1:x 2:{1:14 2:{1:0}}}"), std::string::npos) << text;
}

TEST_F(GraphFiles, ThePbReadsSeveralOutputsThroughNodesOfTheirOwn) {
  const TensorDesc desc{DType::kFloat32, {2}};
  const OpId split = add("split", "Split", {}, {desc, desc});
  add("last", "Squeeze", {{"split", split, 1}}, {}, "", "", {{"author_1", "Squeeze"}});
  const std::string text = told(Reader(graph_pb(kProfile.tree(), ops_.graph())), kMessages);
  EXPECT_NE(text.find("1:{1:{1:1 2:0} 1:{1:cst2 2:0} 2:3 3:TupleGetItem"), std::string::npos) << text;
  EXPECT_NE(text.find("1:{1:{1:3 2:0} 2:2 3:Squeeze"), std::string::npos) << text;
  EXPECT_NE(text.find("5:{1:cst2 2:{1:5 3:1}}"), std::string::npos) << text;
  EXPECT_NE(text.find("6:{1:14 2:{1:0}}"), std::string::npos) << "a type that is not known: " << text;
  EXPECT_NE(text.find("# Original node: none is known"), std::string::npos) << text;
}

TEST_F(GraphFiles, TheIrHasTheRealOnesHeadAndItsLinesOfANode) {
  const TensorDesc desc{DType::kFloat32, {2, 3}};
  const OpId x = add("x", "Input", {}, {desc});
  const OpId w = add("my.weight/w", "Initializer", {}, {desc});
  const OpId a = add("add", "Add", {{"x", x, 0}, {"w", w, 0}}, {desc}, "", R"({"axis": 1, "keep": true, "dims": [1, 2]})",
                     {{"author_add", "Add"}, {"author_bias", "Bias"}});
  add("inner", "Relu", {{"add", a, 0}, {"carried", kNoOp, 0}}, {}, "loop/body");
  const std::string text = graph_ir(kProfile.tree(), ops_.graph());
  EXPECT_EQ(text, R"(# IR entry: @kernel_graph0
# Total subgraphs: 2

# Total params: 2
# Params:
%para1_x: <Tensor[Float32], (2, 3)> : [2, 3]  :  <Float32xDefaultFormat[const vector]{2, 3}>  :  IsWeight: false
%para2_my.weight/w: <Tensor[Float32], (2, 3)>  :  has_default  :  <Float32xDefaultFormat[const vector]{2, 3}>  :  IsWeight: true

Node counting information:
Total number of nodes: 4
Total number of cnodes: 2

subgraph instance: kernel_graph0 : main

subgraph @kernel_graph0() {
  %0(add) = Add(%para1_x, %para2_my.weight/w) {instance name: add} primitive_attrs: {axis: I64(1), keep: Bool(1), dims: (1, 2)}
      : (<Tensor[Float32], (2, 3)>, <Tensor[Float32], (2, 3)>) -> (<Tensor[Float32], (2, 3)>)
      : (<Float32xDefaultFormat[const vector]{2, 3}>, <Float32xDefaultFormat[const vector]{2, 3}>) -> (<Float32xDefaultFormat[const vector]{2, 3}>)
      # Fullname with scope: (Default/add/Add-op0)
      # Original node: (author_add, Add)
      # Original node: (author_bias, Bias)
  Return()
}
# Order:
#   1: @kernel_graph0:Default/add/Add-op0


subgraph instance: kernel_graph1 : loop/body

subgraph @kernel_graph1 parent: [subgraph @kernel_graph0]() {
  %0(inner) = Relu($(@kernel_graph0:0), "carried") {instance name: inner}
      : (<Tensor[Float32], (2, 3)>, <null>) -> (<null>)
      : (<Float32xDefaultFormat[const vector]{2, 3}>, <null>) -> (<null>)
      # Fullname with scope: (Default/inner/Relu-op1)
  Return(%0)
}
# Order:
#   1: @kernel_graph1:Default/inner/Relu-op1


)");
  // The lines of types are the real system's.
  TemporaryFolder folder;
  ASSERT_TRUE(unpack_golden_tree("2.7.0-add", folder.path()));
  const auto golden = read_file(join_path(folder.path(), "2.7.0-add/d/rank_0/graphs/ms_output_trace_code_graph_0.ir"));
  ASSERT_TRUE(golden.ok());
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("      : (<Tensor[Float32], (2, 3)>, <Tensor") ||
        line.starts_with("      : (<Float32xDefaultFormat[const vector]{2, 3}>, <Float32") || line.starts_with("%para1_x")) {
      EXPECT_NE(golden->find(line), std::string::npos) << line;
    }
  }
}

// A program whose ops become known by running: records show the memory.
class LearnedGraphFiles : public GraphFiles {
 protected:
  OpId op(const std::string& name, const std::string& type, const std::vector<std::string>& inputs, const std::string& source) {
    OpInfo info;
    info.name = name;
    info.type = type;
    info.source_location = source;
    info.originals = {{name, ""}};
    for (const std::string& input : inputs) info.inputs.push_back({input, kNoOp, 0});
    ops_.add(next_, info);
    return next_++;
  }
  void record(OpId id, SlotKind kind, uint16_t slot, uint64_t storage, uint64_t version, int64_t element = -1) {
    RecordRow row;
    row.op = id;
    row.slot_kind = static_cast<uint8_t>(kind);
    row.slot_index = slot;
    row.element = element;
    row.storage = storage;
    row.version = version;
    row.set_desc({DType::kFloat32, {2, 3}});
    ops_.follow(row);
    if (kind == SlotKind::kOutput) ops_.find(id)->see(slot, row.desc());
  }
  // weight = first.weight from outside, updated in place at the end of the step.
  void run() {
    const OpId split = op("split", "split", {"self"}, "train.py:3");
    const OpId mul = op("first/mul", "mul", {"self", "first.weight"}, "train.py:4");
    const OpId cat = op("cat", "cat", {"tensors"}, "train.py:5");
    const OpId add = op("SGD.step/add_", "add_", {"first.weight", "other"}, "train.py:6");
    for (uint64_t step = 0; step < 2; ++step) {
      const uint64_t mine = 10 * step;
      record(split, SlotKind::kInput, 0, 90 + step, 1);
      record(split, SlotKind::kOutput, 0, 11 + mine, 1);
      record(split, SlotKind::kOutput, 1, 12 + mine, 1);
      record(mul, SlotKind::kInput, 0, 12 + mine, 1);
      record(mul, SlotKind::kInput, 1, 5, 1 + step);
      record(mul, SlotKind::kOutput, 0, 13 + mine, 1);
      record(cat, SlotKind::kInput, 0, 13 + mine, 1, 0);
      record(cat, SlotKind::kInput, 0, 11 + mine, 1, 1);
      record(cat, SlotKind::kOutput, 0, 14 + mine, 1);
      record(add, SlotKind::kInput, 0, 5, 1 + step);
      record(add, SlotKind::kInput, 1, 14 + mine, 1);
      record(add, SlotKind::kOutput, 0, 5, 2 + step);
    }
  }
};

// M19
TEST_F(GraphFiles, NamesOfNodesAreMindsporesKind) {
  const OpId x = add("x (1)", "Input", {}, {});
  const OpId conv = add("/model.22/cv(2):0/Conv", "com.microsoft::Fused Conv", {{"x", x, 0}, {"a(b", kNoOp, 0}}, {});
  add("", "3d", {{"y", conv, 0}}, {}, "", "", {{"m.22(1)", "Conv"}});
  const std::string text = graph_ir(kProfile.tree(), ops_.graph());
  EXPECT_NE(text.find("\n  %0(_model.22_cv_2__0_Conv) = com_microsoft__Fused_Conv(%para1_x__1_, \"a_b\") "), std::string::npos) << text;
  EXPECT_NE(text.find("# Fullname with scope: (Default/model/22/cv_2__0/Conv/com_microsoft__Fused_Conv-op0)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  %1(_) = _3d(%0) "), std::string::npos) << text;
}

TEST_F(LearnedGraphFiles, TheIrHasTheEdgesThatTheRecordsTell) {
  run();
  const std::string text = graph_ir(kProfile.tree(), ops_.graph());
  std::string lines;
  for (const std::string_view line : split(text, '\n')) {
    const bool is_type = line.starts_with("      : (");
    if (!is_type && (line.starts_with("%para") || line.starts_with("  ") || line.starts_with("# Total params")))
      lines += concat(line, "\n");
  }
  EXPECT_EQ(lines, R"(# Total params: 2
%para1_split.self: <Tensor[Float32], (2, 3)> : [2, 3]  :  <Float32xDefaultFormat[const vector]{2, 3}>  :  IsWeight: false
%para2_first.weight: <Tensor[Float32], (2, 3)>  :  has_default  :  <Float32xDefaultFormat[const vector]{2, 3}>  :  IsWeight: true
  %0(split) = split(%para1_split.self) {instance name: split}
      # Fullname with scope: (Default/split/split-op0)
      # In file train.py:3/
  %1(first_mul) = mul(%0[1], %para2_first.weight) {instance name: first/mul}
      # Fullname with scope: (Default/first/mul/mul-op1)
      # In file train.py:4/
      # Parameters: (in1 first.weight)
      # In other calls: (in1 %3)
  %2(cat) = cat((%1, %0[0])) {instance name: cat}
      # Fullname with scope: (Default/cat/cat-op2)
      # In file train.py:5/
  %3(SGD.step_add_) = add_(%para2_first.weight, %2) {instance name: SGD.step/add_}
      # Fullname with scope: (Default/SGD/step/add_/add_-op3)
      # In file train.py:6/
      # Parameters: (in0 first.weight)
      # In other calls: (in0 %3)
  Return()
)");
  EXPECT_NE(text.find("      : (<Tensor[Float32], (2, 3)>) -> (<Tensor[Float32], (2, 3)>, <Tensor[Float32], (2, 3)>)"), std::string::npos)
      << text;
}

TEST_F(LearnedGraphFiles, ThePbHasTheSameEdges) {
  run();
  const std::string text = told(Reader(graph_pb(kProfile.tree(), ops_.graph())), kMessages);
  EXPECT_NE(text.find("1:{1:{1:5 2:0} 1:{1:first.weight 2:0} 2:2 3:mul"), std::string::npos) << text;
  EXPECT_NE(text.find("1:{1:{1:2 2:0} 1:{1:6 2:0} 2:3 3:cat"), std::string::npos) << text;
  EXPECT_NE(text.find("3:{1:split.self 2:{1:14 2:{1:11 2:{1:{1:2} 1:{1:3}}}}} 3:{1:first.weight 2:{1:14"), std::string::npos) << text;
  EXPECT_NE(text.find("9:      # In file train.py:4/\n"), std::string::npos) << text;
}

TEST_F(GraphFiles, OlderVersionsWriteTheOlderText) {
  const TensorDesc desc{DType::kFloat32, {2, 3}};
  const OpId x = add("x", "Input", {}, {desc});
  add("add", "Add", {{"x", x, 0}}, {desc}, "", R"({"keep": true})");
  const std::string text = graph_ir(parse_profile("mindspore-2.0")->tree(), ops_.graph());
  TemporaryFolder folder;
  ASSERT_TRUE(unpack_golden_tree("2.0.0-add", folder.path()));
  const auto golden = read_file(join_path(folder.path(), "2.0.0-add/d/rank_0/graphs/ms_output_trace_code_graph_0.ir"));
  ASSERT_TRUE(golden.ok());
  for (const char* line : {"# IR entry: @kernel_graph_0\n",
                           "%para1_x : <Tensor[Float32], (2, 3)>  :  <Float32xDefaultFormat[const vector][2, 3]>  :  IsWeight: false\n",
                           "subgraph @kernel_graph_0() {\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
    EXPECT_NE(golden->find(line), std::string::npos) << line;
  }
  EXPECT_NE(text.find("primitive_attrs: {keep: true}"), std::string::npos);
  EXPECT_EQ(text.find("Node counting"), std::string::npos);
}

}  // namespace
}  // namespace tensortap::mindspore
