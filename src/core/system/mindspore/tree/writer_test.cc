#include "system/mindspore/tree/writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/temporary_folder.h"
#include "format/npy/npy_header.h"
#include "stats/stats.h"
#include "system/mindspore/names.h"
#include "system/mindspore/tree/writer_golden.h"

namespace tensortap::mindspore {
namespace {

OpInfo op_info(std::string name, std::string type, std::vector<OpInput> inputs = {}, std::string graph = "") {
  OpInfo op;
  op.name = std::move(name);
  op.type = std::move(type);
  op.inputs = std::move(inputs);
  op.graph = std::move(graph);
  op.outputs = {op.name};
  return op;
}

// A file of a tree whose name parses, without what differs from run to run.
struct Named {
  std::string folder;
  std::string type;
  std::string name;
  bool is_input;
  uint64_t slot;
  std::string dtype;
  uint64_t time;
  std::string file;
};

// Files may grow to no more than `size` bytes while it lives, as if the disk were full.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t size) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{size, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  ~SmallFiles() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0);
    ::signal(SIGXFSZ, SIG_DFL);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
};

class MindsporeWriterTest : public testing::Test {
 protected:
  MindsporeWriterTest() {
    spec_.payload = Payload::kTensor;
    spec_.inputs = true;
    spec_.outputs = true;
    spec_.out = folder_.path();
    spec_.extras.graphs = spec_.extras.execution_order = true;
  }

  void create() {
    DumpInfo info;
    info.folder = folder_.path();
    auto writer = create_tree(info, spec_);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    writer_ = *std::move(writer);
    next_ = 0;
  }
  OpId add(const OpInfo& op) {
    EXPECT_TRUE(writer_->add_op(next_, op).ok());
    return next_++;
  }
  void decide(OpId id, bool inputs = true, bool outputs = true) {
    OpDecision decision;
    decision.wanted = true;
    decision.inputs = inputs && spec_.inputs;
    decision.outputs = outputs && spec_.outputs;
    decision.outputs_for_consumers = !decision.outputs;
    writer_->parts().decisions->op_decided(id, decision);
  }
  void decide_all() {
    for (OpId id = 0; id < next_; ++id) decide(id);
  }
  Status record(OpId op, std::vector<float> values, int64_t step = 0, uint32_t call = 0, Phase phase = Phase::kInference) {
    RecordRow row;
    row.op = op;
    row.step = step;
    row.call = call;
    row.phase = static_cast<uint8_t>(phase);
    row.set_desc({DType::kFloat32, {static_cast<int64_t>(values.size())}});
    const TensorView view{row.desc(), values.data(), nullptr};
    if (spec_.payload != Payload::kTensor) row.stats = compute_stats(view, {});
    return writer_->add_record(row, spec_.payload == Payload::kStatistics ? nullptr : &view, nullptr);
  }
  // Two inputs and an Add, as programs/add.py of the golden trees.
  void add_net() {
    const OpId x = add(op_info("x", "Input"));
    const OpId y = add(op_info("y", "Input"));
    add(op_info("add", "Add", {{"x", x, 0}, {"y", y, 0}}));
    decide_all();
  }
  void run_add(int64_t step = 0) {
    ASSERT_TRUE(record(0, {1, 2}, step).ok());
    ASSERT_TRUE(record(1, {10, 20}, step).ok());
    ASSERT_TRUE(record(2, {11, 22}, step).ok());
    ASSERT_TRUE(writer_->parts().steps->end_step(step, 0).ok());
  }
  static std::vector<std::string> files_below(const std::string& folder) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_directory()) files.push_back(entry.path().string().substr(folder.size() + 1));
    }
    std::ranges::sort(files);
    return files;
  }
  static std::vector<Named> tensors_below(const std::string& folder) {
    std::vector<Named> tensors;
    for (const std::string& file : files_below(folder)) {
      const std::string base = file_name(file);
      const auto name = parse_tensor_file_name(base);
      if (!name) continue;
      tensors.push_back({parent_path(file), std::string(name->type), std::string(name->name), name->is_input, name->slot,
                         std::string(name->dtype), name->time, file});
    }
    std::ranges::sort(tensors, {}, &Named::time);
    return tensors;
  }
  std::vector<Named> tensors() { return tensors_below(folder_.path()); }
  // "add.in0=1,2 ..." in the order of the time stamps.
  std::string told(const std::string& below) {
    std::string text;
    for (const Named& tensor : tensors()) {
      if (tensor.folder != below) continue;
      text +=
          concat(tensor.name, tensor.is_input ? ".in" : ".out", tensor.slot, "=", values_of(join_path(folder_.path(), tensor.file)), " ");
    }
    return text;
  }
  static std::string values_of(const std::string& path) {
    const auto bytes = read_file(path);
    EXPECT_TRUE(bytes.ok()) << path;
    const auto header = parse_npy_header(std::as_bytes(std::span(*bytes)));
    EXPECT_TRUE(header.ok()) << path;
    std::string text;
    for (size_t at = header->data_begin; at + 4 <= bytes->size(); at += 4) {
      float value = 0;
      std::memcpy(&value, bytes->data() + at, 4);
      text += concat(text.empty() ? "" : ",", value);
    }
    return text;
  }
  std::string file(const std::string& below) {
    const auto text = read_file(join_path(folder_.path(), below));
    return text.ok() ? *text : "";
  }

  TemporaryFolder folder_;
  CaptureSpec spec_;
  std::unique_ptr<LayoutWriter> writer_;
  OpId next_ = 0;
};

// M17
TEST_F(MindsporeWriterTest, TheMappingNamesTheFilesThatExist) {
  create();
  const std::string name(300, 'w');
  const OpId weight = add(op_info(name, "Initializer"));
  const OpId unread = add(op_info(name + "2", "Initializer"));
  const OpId kept = add(op_info(name + "3", "Initializer"));
  const OpId x = add(op_info("x", "Input"));
  const OpId op = add(op_info(std::string(300, 'a'), "Add", {{"x", x, 0}, {name, weight, 0}}));
  decide_all();
  decide(weight, true, false);
  decide(unread, true, false);
  ASSERT_TRUE(record(weight, {1}, 0, 0, Phase::kLoad).ok());
  ASSERT_TRUE(record(unread, {2}, 0, 0, Phase::kLoad).ok());
  ASSERT_TRUE(record(kept, {2}, 0, 0, Phase::kLoad).ok());
  for (int64_t step = 0; step < 2; ++step) {
    ASSERT_TRUE(record(x, {3}, step).ok());
    ASSERT_TRUE(record(op, {4}, step).ok());
    ASSERT_TRUE(writer_->parts().steps->end_step(step, 0).ok());
  }
  ASSERT_TRUE(writer_->finish("{}").ok());
  for (const char* step : {"rank_0/Net/0/0", "rank_0/Net/0/1"}) {
    std::set<std::string> listed;
    const std::string mapping = file(concat(step, "/mapping.csv"));
    for (const std::string_view line : split(trim(mapping), '\n')) {
      listed.insert(std::string(line.substr(0, line.find(','))));
    }
    std::set<std::string> digits;
    for (const auto& entry : std::filesystem::directory_iterator(join_path(folder_.path(), step))) {
      const std::string stored = entry.path().filename();
      if (stored.find_first_not_of("0123456789") == stored.find(".npy")) digits.insert(stored);
    }
    EXPECT_EQ(listed, digits) << step;
    EXPECT_FALSE(digits.empty());
  }
}

// M14
TEST_F(MindsporeWriterTest, BlockedChannelsAreNamedSo) {
  create();
  const OpId conv = add(op_info("conv", "Conv"));
  decide_all();
  RecordRow row;
  row.op = conv;
  row.flags = kRecordBlocked;
  row.set_desc({DType::kFloat32, {1, 2, 3, 1, 4}});
  const std::vector<float> values(24, 1.0F);
  const TensorView view{row.desc(), values.data(), nullptr};
  ASSERT_TRUE(writer_->add_record(row, &view, nullptr).ok());
  ASSERT_TRUE(writer_->finish("{}").ok());
  const std::vector<Named> made = tensors();
  ASSERT_EQ(made.size(), 1U);
  EXPECT_NE(made[0].file.find(".output.0.NC1HWC0.Float32.npy"), std::string::npos) << made[0].file;
  EXPECT_NE(file(made[0].file).find("'shape': (1,2,3,1,4,)"), std::string::npos);
}

// M23
TEST_F(MindsporeWriterTest, TensorsOfThirtyTwoDimensionsHaveFiles) {
  spec_.payload = Payload::kFull;
  create();
  const OpId op = add(op_info("wide", "Reshape"));
  decide_all();
  std::vector<int64_t> dims(32, 1);
  dims[31] = 3;
  RecordRow row;
  row.op = op;
  row.set_desc({DType::kFloat32, Shape(dims)});
  const std::vector<float> values = {1, 2, 3};
  const TensorView view{row.desc(), values.data(), nullptr};
  row.stats = compute_stats(view, {});
  ASSERT_TRUE(writer_->add_record(row, &view, nullptr).ok());
  ASSERT_TRUE(writer_->parts().steps->end_step(0, 0).ok());
  ASSERT_TRUE(writer_->finish("{}").ok());
  std::string shape;
  for (int i = 0; i < 31; ++i) shape += "1,";
  ASSERT_EQ(tensors().size(), 1U);
  EXPECT_EQ(values_of(join_path(folder_.path(), tensors()[0].file)), "1,2,3");
  EXPECT_NE(file(tensors()[0].file).find(concat("'shape': (", shape, "3,)")), std::string::npos);
  EXPECT_NE(file("rank_0/Net/0/0/statistic.csv").find(concat("\"[", shape, "3]\"")), std::string::npos);
}

// M15, M18, M20, M21
TEST_F(MindsporeWriterTest, MakesTheTreeThatMindsporeMakes) {
  create();
  add_net();
  EXPECT_TRUE(files_below(folder_.path()).empty());
  run_add();
  ASSERT_TRUE(writer_->finish("{\"ours\": 1}").ok());

  TemporaryFolder golden;
  ASSERT_TRUE(unpack_golden_tree("2.7.0-add", golden.path()));
  const auto grammar = [](const std::string& root) {
    std::multiset<std::string> lines;
    for (const Named& tensor : tensors_below(root)) {
      // Our op has a different name, "add", below the scope.
      const std::string name = tensor.name == "Default_add_Add-op0" ? "Default_Add-op0" : tensor.name;
      lines.insert(concat(tensor.folder, " ", tensor.type, ".", name, tensor.is_input, tensor.slot, tensor.dtype));
    }
    for (const std::string& path : files_below(root)) {
      if (!path.ends_with(".npy")) lines.insert(path);
    }
    return lines;
  };
  std::multiset<std::string> expected = grammar(join_path(golden.path(), "2.7.0-add/d"));
  expected.insert("rank_0/.dump_metadata/tensortap_run.json");
  EXPECT_EQ(grammar(folder_.path()), expected);

  EXPECT_EQ(told("rank_0/Net/0/0"),
            "Default_add_Add-op0.in0=1,2 Default_add_Add-op0.in1=10,20 Default_add_Add-op0.out0=11,22 x.out0=1,2 y.out0=10,20 ");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
    struct stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, entry.is_directory() ? 0700U : 0400U) << entry.path();
  }
  EXPECT_EQ(file("rank_0/.dump_metadata/config.json"), "{\"device_target\":\"CPU\",\"ms_version\":\"2.10.0\"}");
  EXPECT_EQ(file("rank_0/.dump_metadata/tensortap_run.json"), "{\"ours\": 1}");
  EXPECT_EQ(file("rank_0/execution_order/ms_execution_order_graph_0.csv"), "NodeExecutionOrder-FullNameWithScope\nDefault/add/Add-op0\n");
  EXPECT_EQ(file("rank_0/execution_order/ms_global_execution_order_graph_0.csv"), "0\n");
  EXPECT_GT(writer_->bytes_written(), 3 * 128U);
}

TEST_F(MindsporeWriterTest, InputsAreLinksToWhatTheirProducersWrote) {
  create();
  const OpId x = add(op_info("x", "Input"));
  const OpId a = add(op_info("a", "Relu", {{"x", x, 0}}));
  add(op_info("b", "Relu", {{"a", a, 0}}));
  decide_all();
  ASSERT_TRUE(record(0, {1}).ok());
  ASSERT_TRUE(record(1, {2}).ok());
  ASSERT_TRUE(record(2, {3}).ok());
  ASSERT_TRUE(writer_->parts().steps->end_step(0, 0).ok());
  EXPECT_EQ(told("rank_0/Net/0/0"),
            "Default_a_Relu-op0.in0=1 Default_a_Relu-op0.out0=2 Default_b_Relu-op1.in0=2 Default_b_Relu-op1.out0=3 x.out0=1 ");
  for (const Named& tensor : tensors()) {
    struct stat status {};
    ASSERT_EQ(::stat(join_path(folder_.path(), tensor.file).c_str(), &status), 0);
    EXPECT_EQ(status.st_nlink, tensor.name == "Default_b_Relu-op1" && !tensor.is_input ? 1U : 2U) << tensor.file;
  }
}

TEST_F(MindsporeWriterTest, WeightsStandInEveryIteration) {
  spec_.steps = *StepSet::parse("2|4");
  create();
  const OpId w = add(op_info("conv.weight/w", "Initializer"));
  const OpId x = add(op_info("x", "Input"));
  const OpId a = add(op_info("a", "Mul", {{"x", x, 0}, {"w", w, 0}}));
  decide_all();
  ASSERT_TRUE(record(w, {7}, 0, 0, Phase::kLoad).ok());
  for (const int64_t step : {2, 4}) {
    const auto value = static_cast<float>(step);
    ASSERT_TRUE(record(x, {value}, step).ok());
    ASSERT_TRUE(record(a, {7 * value}, step).ok());
    ASSERT_TRUE(writer_->parts().steps->end_step(step, 0).ok());
  }
  EXPECT_EQ(told("rank_0/Net/0/2"),
            "Default_a_Mul-op0.in0=2 Default_a_Mul-op0.in1=7 Default_a_Mul-op0.out0=14 conv_weight_w.out0=7 x.out0=2 ");
  EXPECT_EQ(told("rank_0/Net/0/4"),
            "Default_a_Mul-op0.in0=4 Default_a_Mul-op0.in1=7 Default_a_Mul-op0.out0=28 conv_weight_w.out0=7 x.out0=4 ");
  EXPECT_EQ(file("rank_0/execution_order/ms_global_execution_order_graph_0.csv"), "2\n4\n");
}

TEST_F(MindsporeWriterTest, OutputsKeptForTheirReadersStandUnderTheReadersNames) {
  create();
  const OpId x = add(op_info("x", "Input"));
  const OpId a = add(op_info("a", "Relu", {{"x", x, 0}}));
  const OpId b = add(op_info("b", "Add", {{"a", a, 0}, {"a", a, 0}}));
  const OpId c = add(op_info("c", "Relu", {{"a", a, 0}}));
  const OpId d = add(op_info("d", "Relu", {{"x", x, 0}}, "if/then"));  // does not run
  decide(x, false, false);
  decide(a, false, false);
  decide(b);
  decide(c);
  decide(d);
  ASSERT_TRUE(record(x, {5}).ok());
  ASSERT_TRUE(record(a, {1}).ok());
  ASSERT_TRUE(record(b, {2}).ok());
  ASSERT_TRUE(record(c, {3}).ok());
  ASSERT_TRUE(writer_->parts().steps->end_step(0, 0).ok());
  EXPECT_EQ(told("rank_0/Net/0/0"),
            "Default_b_Add-op1.in0=1 Default_b_Add-op1.in1=1 Default_b_Add-op1.out0=2 Default_c_Relu-op2.in0=1 Default_c_Relu-op2.out0=3 ");
}

TEST_F(MindsporeWriterTest, ALoopLeavesAFileForEveryExecution) {
  create();
  const OpId x = add(op_info("x", "Input"));
  const OpId a = add(op_info("a", "Relu", {{"x", x, 0}}, "loop/body"));
  const OpId b = add(op_info("b", "Relu", {{"a", a, 0}}, "loop/body"));
  decide_all();
  ASSERT_TRUE(record(x, {9}).ok());
  for (uint32_t call = 0; call < 2; ++call) {
    ASSERT_TRUE(record(a, {1.0F + call}, 0, call).ok());
    ASSERT_TRUE(record(b, {11.0F + call}, 0, call).ok());
  }
  ASSERT_TRUE(writer_->parts().steps->end_step(0, 0).ok());
  EXPECT_EQ(told("rank_0/Net/0/0"),
            "Default_a_Relu-op0.in0=9 Default_a_Relu-op0.out0=1 Default_b_Relu-op1.in0=1 Default_b_Relu-op1.out0=11 "
            "Default_a_Relu-op0.in0=9 Default_a_Relu-op0.out0=2 Default_b_Relu-op1.in0=2 Default_b_Relu-op1.out0=12 x.out0=9 ");
}

TEST_F(MindsporeWriterTest, StatisticsOfInputsAndOutputsStandInTheOrderOfExecution) {
  spec_.payload = Payload::kFull;
  spec_.layout_options["statistic_category"] = "max,md5,count";
  create();
  add_net();
  run_add();
  const std::string text = file("rank_0/Net/0/0/statistic.csv");
  std::vector<std::string> times;
  for (const Named& tensor : tensors()) times.push_back(to_text(tensor.time));
  ASSERT_EQ(times.size(), 5U);
  // Digests by md5sum of the values.
  EXPECT_EQ(text, concat("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,MD5,Count\n"
                         "Add,Default/add/Add-op0,0,0,",
                         times[0], ",input,0,8,float32,\"[2]\",2,057a7f5ab69cb695657046b18832c330,2,\nAdd,Default/add/Add-op0,0,0,",
                         times[1], ",input,1,8,float32,\"[2]\",20,c190a256665fcbc1629bafe894d27ecf,2,\nAdd,Default/add/Add-op0,0,0,",
                         times[2], ",output,0,8,float32,\"[2]\",22,a08ee3767f5f0c56c0ec66fb2cf346d0,2,\nParameter,x,0,0,", times[3],
                         ",output,0,8,float32,\"[2]\",2,057a7f5ab69cb695657046b18832c330,2,\nParameter,y,0,0,", times[4],
                         ",output,0,8,float32,\"[2]\",20,c190a256665fcbc1629bafe894d27ecf,2,\n"));
  struct stat status {};
  ASSERT_EQ(::stat(join_path(folder_.path(), "rank_0/Net/0/0/statistic.csv").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
}

TEST_F(MindsporeWriterTest, StatisticsAloneLeaveNoTensorFile) {
  spec_.payload = Payload::kStatistics;
  spec_.profile = "mindspore-2.7.0/gpu";
  spec_.layout_options["net_name"] = "my-net_1";
  create();
  add_net();
  run_add();
  run_add(1);
  EXPECT_TRUE(tensors().empty());
  const std::string text = file("rank_0/my-net_1/0/1/statistic.csv");
  EXPECT_NE(text.find("Add,Default_add_Add-op0,0,0,"), std::string::npos);
  EXPECT_NE(text.find(",input,1,8,float32,\"(2)\",20,10,22.3607,\n"), std::string::npos);
  EXPECT_EQ(std::ranges::count(text, '\n'), 6);
}

TEST_F(MindsporeWriterTest, LongNamesAreMapped) {
  create();
  const OpId x = add(op_info("x", "Input"));
  const std::string name(300, 'n');
  add(op_info(name, "Relu", {{"x", x, 0}}));
  decide_all();
  ASSERT_TRUE(record(0, {1}).ok());
  ASSERT_TRUE(record(1, {2}).ok());
  ASSERT_TRUE(writer_->parts().steps->end_step(0, 0).ok());
  const std::string mapping = file("rank_0/Net/0/0/mapping.csv");
  std::string told_names;
  size_t lines = 0;
  for (const std::string_view line : split(mapping, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string_view> parts = split(line, ',');
    ASSERT_EQ(parts.size(), 2U);
    const auto parsed = parse_tensor_file_name(parts[1]);
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->name, concat("Default_", name, "_Relu-op0"));
    EXPECT_EQ(parsed->is_input, lines == 0);
    EXPECT_EQ(values_of(concat(folder_.path(), "/rank_0/Net/0/0/", parts[0])), lines == 0 ? "1" : "2");
    ++lines;
  }
  EXPECT_EQ(lines, 2U);
}

TEST_F(MindsporeWriterTest, ASecondDumpLiesBesideTheFirst) {
  spec_.payload = Payload::kFull;
  for (int i = 0; i < 2; ++i) {
    create();
    add_net();
    run_add();
    ASSERT_TRUE(writer_->finish("{}").ok());
  }
  EXPECT_EQ(tensors().size(), 10U);
  const std::string text = file("rank_0/Net/0/0/statistic.csv");
  EXPECT_EQ(std::ranges::count(text, '\n'), 11);
  EXPECT_EQ(file("rank_0/execution_order/ms_global_execution_order_graph_0.csv"), "0\n0\n");
  // Other columns do not go below these.
  spec_.layout_options["statistic_category"] = "avg";
  create();
  add_net();
  const Status status = record(2, {1, 2});
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.message().find("other columns"), std::string::npos);
  EXPECT_EQ(tensors().size(), 10U);
  EXPECT_TRUE(writer_->parts().steps->end_step(0, 0).ok());
  EXPECT_EQ(file("rank_0/Net/0/0/statistic.csv"), text);
}

TEST_F(MindsporeWriterTest, OtherProfilesNameFilesAsTheyDid) {
  spec_.profile = "mindspore-2.0/gpu";
  create();
  add_net();
  run_add();
  EXPECT_EQ(told("rank_0/Net/0/0"), "Add-op0.in0=1,2 Add-op0.in1=10,20 Add-op0.out0=11,22 x.out0=1,2 y.out0=10,20 ");
  for (const Named& tensor : tensors()) EXPECT_EQ(tensor.dtype, "");
  EXPECT_EQ(file("rank_0/.dump_metadata/config.json"), "{\"device_target\":\"GPU\",\"ms_version\":\"2.0.0\"}");
}

TEST_F(MindsporeWriterTest, AscendHasNeitherParametersNorMetadata) {
  spec_.profile = "mindspore-2.10/ascend";
  create();
  add_net();
  run_add();
  EXPECT_EQ(told("rank_0/Net/0/0"), "Default_add_Add-op0.in0=1,2 Default_add_Add-op0.in1=10,20 Default_add_Add-op0.out0=11,22 ");
  EXPECT_EQ(tensors()[0].dtype, "float32");
  EXPECT_FALSE(path_exists(join_path(folder_.path(), "rank_0/.dump_metadata")));
  EXPECT_FALSE(path_exists(join_path(folder_.path(), "rank_0/execution_order/ms_global_execution_order_graph_0.csv")));
}

TEST_F(MindsporeWriterTest, ConstantsStandInAFolderOfTheirOwn) {
  spec_.profile = "mindspore-2.10/gpu";
  spec_.extras.constants = true;
  spec_.payload = Payload::kFull;
  create();
  OpInfo constant = op_info("folded", "Initializer");
  constant.originals = {{"c", "Constant"}};
  const OpId k = add(constant);
  const OpId a = add(op_info("a", "Relu", {{"folded", k, 0}}));
  decide_all();
  ASSERT_TRUE(record(k, {3}, 0, 0, Phase::kLoad).ok());
  ASSERT_TRUE(record(a, {3}).ok());
  ASSERT_TRUE(writer_->parts().steps->end_step(0, 0).ok());
  EXPECT_EQ(told("rank_0/Net/0/constants"), "data-1.out0=3 ");
  EXPECT_EQ(told("rank_0/Net/0/0"), "Default_a_Relu-op0.in0=3 Default_a_Relu-op0.out0=3 ");
  const auto table = read_file(join_path(folder_.path(), "rank_0/Net/0/constants/statistic.csv"));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(std::ranges::count(*table, '\n'), 2) << *table;
}

TEST_F(MindsporeWriterTest, ParametersWhoseNamesDifferInCleanedCharactersOnlyStayApart) {
  spec_.inputs = false;
  create();
  for (const char* name : {"a/b", "a_b", "a.b"}) add(op_info(name, "Input"));
  decide_all();
  for (OpId id = 0; id < 3; ++id) ASSERT_TRUE(record(id, {static_cast<float>(id)}).ok());
  ASSERT_TRUE(writer_->parts().steps->end_step(0, 0).ok());
  EXPECT_EQ(told("rank_0/Net/0/0"), "a_b.out0=0 a_b_2.out0=1 a_b_3.out0=2 ");
}

TEST_F(MindsporeWriterTest, AFailedOpLeavesItsInputs) {
  spec_.trigger = Trigger::kException;
  create();
  add_net();
  RecordRow row;
  row.op = 2;
  row.slot_kind = static_cast<uint8_t>(SlotKind::kInput);
  row.slot_index = 1;
  row.flags = kRecordFailedOp;
  row.set_desc({DType::kFloat32, {1}});
  const float value = 4;
  const TensorView view{row.desc(), &value, nullptr};
  ASSERT_TRUE(writer_->add_record(row, &view, nullptr).ok());
  ASSERT_TRUE(writer_->parts().steps->end_step(0, 0).ok());
  EXPECT_EQ(told("rank_0/Net/0/0"), "Default_add_Add-op0.in1=4 ");
}

// M22
TEST_F(MindsporeWriterTest, AttributesStandBesideTheTensors) {
  spec_.extras.attributes = true;
  create();
  OpInfo op = op_info("conv.1", "Conv");
  op.attributes = R"({"strides": [1, 2], "auto_pad": "SAME", "alpha": 0.5, "keep": true})";
  add(op);
  decide_all();
  ASSERT_TRUE(record(0, {1}).ok());
  EXPECT_EQ(file("rank_0/Net/0/0/Conv.Default_conv_1_Conv-op0.json"),
            "{\n    \"alpha\": \"0.5\",\n    \"auto_pad\": \"SAME\",\n    \"keep\": \"True\",\n    \"strides\": \"(1, 2)\"\n}");
}

TEST_F(MindsporeWriterTest, WhatHasNoFileIsTold) {
  create();
  add(op_info("a", "Relu"));
  decide_all();
  EXPECT_EQ(record(0, {}).code(), StatusCode::kUnsupported);
  RecordRow row;
  row.op = 0;
  row.set_desc({DType::kFloat8E5M2, {4}});
  const uint32_t bits = 0;
  const TensorView view{row.desc(), &bits, nullptr};
  EXPECT_EQ(writer_->add_record(row, &view, nullptr).code(), StatusCode::kUnsupported);
  row.set_desc({DType::kString, {1}});
  EXPECT_EQ(writer_->add_record(row, nullptr, nullptr).code(), StatusCode::kUnsupported);
  row.set_desc({DType::kFloat32, {1}});
  row.element = 0;
  EXPECT_EQ(writer_->add_record(row, &view, nullptr).code(), StatusCode::kUnsupported);
  row.element = -1;
  row.slot_kind = static_cast<uint8_t>(SlotKind::kGradient);
  EXPECT_EQ(writer_->add_record(row, &view, nullptr).code(), StatusCode::kUnsupported);
  row.op = 99;
  EXPECT_FALSE(writer_->add_record(row, &view, nullptr).ok());
  EXPECT_TRUE(tensors().empty());
}

TEST_F(MindsporeWriterTest, AStepThatNobodyEndedLeavesNoFileOfAnOpThatDidNotCome) {
  create();
  const OpId x = add(op_info("x", "Input"));
  const OpId a = add(op_info("a", "Relu", {{"x", x, 0}}));
  decide(x, false, false);
  decide(a);
  ASSERT_TRUE(record(x, {1}).ok());
  EXPECT_EQ(tensors().size(), 1U);
  ASSERT_TRUE(writer_->finish("{}").ok());
  EXPECT_TRUE(tensors().empty());
}

TEST_F(MindsporeWriterTest, StatisticsWaitForRoomOnTheDisk) {
  spec_.payload = Payload::kStatistics;
  spec_.extras.graphs = spec_.extras.execution_order = false;
  create();
  add_net();
  ASSERT_TRUE(record(0, {1, 2}).ok());
  ASSERT_TRUE(record(1, {10, 20}).ok());
  ASSERT_TRUE(record(2, {11, 22}).ok());
  {
    const SmallFiles limit(20);
    EXPECT_FALSE(writer_->parts().steps->end_step(0, 0).ok());
    EXPECT_FALSE(writer_->flush().ok());
  }
  ASSERT_TRUE(writer_->finish("{}").ok());
  const std::string text = file("rank_0/Net/0/0/statistic.csv");
  EXPECT_EQ(std::ranges::count(text, '\n'), 6);
}

TEST_F(MindsporeWriterTest, AnUncreatableFolderIsToldAndTriedAgain) {
  create();
  add_net();
  const std::string rank = join_path(folder_.path(), "rank_0");
  ASSERT_TRUE(write_file_atomically(rank, "in the way").ok());
  EXPECT_FALSE(record(0, {1}).ok());
  EXPECT_FALSE(writer_->parts().steps->end_step(0, 0).ok());
  ASSERT_EQ(::unlink(rank.c_str()), 0);
  run_add(1);
  EXPECT_EQ(tensors().size(), 5U);
  ASSERT_TRUE(writer_->finish("{}").ok());
}

TEST_F(MindsporeWriterTest, AFullDiskLeavesNoHalfFile) {
  spec_.inputs = false;
  create();
  add_net();
  ASSERT_TRUE(record(0, {1}).ok());
  Status status;
  {
    const SmallFiles limit(1000);
    status = record(2, std::vector<float>(1000, 1.0F));
  }
  EXPECT_EQ(status.code(), StatusCode::kIo) << status.message();
  EXPECT_EQ(tensors().size(), 1U);
  ASSERT_TRUE(record(2, {1}).ok());
  ASSERT_TRUE(writer_->parts().steps->end_step(0, 0).ok());
  EXPECT_EQ(told("rank_0/Net/0/0"), "Default_add_Add-op0.out0=1 x.out0=1 ");
}

RC_GTEST_FIXTURE_PROP(MindsporeWriterTest, HostileNamesStayInsideTheFolderAndKeepTheirTensors, ()) {
  const auto name_of_some_kind =
      rc::gen::oneOf(rc::gen::arbitrary<std::string>(), rc::gen::element<std::string>("..", "../../up", "/etc/x", ".", "", "a\nb", "%s"),
                     rc::gen::container<std::string>(rc::gen::element('/', '.', ' ', '\\', '\n', ',', '"', '\xff', 'a')),
                     rc::gen::map(rc::gen::inRange(200, 600), [](int size) { return std::string(static_cast<size_t>(size), 'n'); }));
  const auto names = *rc::gen::container<std::vector<std::string>>(name_of_some_kind);
  const auto types = *rc::gen::container<std::vector<std::string>>(names.size(), name_of_some_kind);
  TemporaryFolder outer;
  spec_.profile = *rc::gen::element("mindspore-2.10/cpu", "mindspore-2.0/gpu");
  spec_.payload = Payload::kFull;
  DumpInfo info;
  info.folder = join_path(outer.path(), "dump");
  RC_ASSERT(make_directories(info.folder).ok());
  auto created = create_tree(info, spec_);
  RC_ASSERT(created.ok());
  writer_ = *std::move(created);
  next_ = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool parameter = *rc::gen::arbitrary<bool>();
    add(op_info(names[i], parameter ? "Input" : types[i]));
  }
  decide_all();
  for (OpId id = 0; id < next_; ++id) RC_ASSERT(record(id, {static_cast<float>(id)}).ok());
  RC_ASSERT(writer_->parts().steps->end_step(0, 0).ok());
  RC_ASSERT(writer_->finish("{}").ok());
  RC_ASSERT(list_directory(outer.path())->size() == 1U);
  // The tree contains every tensor once, and all rows have the same number of cells.
  std::multiset<std::string> values;
  for (const std::string& path : files_below(info.folder)) {
    if (path.ends_with(".npy")) values.insert(values_of(join_path(info.folder, path)));
  }
  RC_ASSERT(values.size() == names.size());
  for (OpId id = 0; id < next_; ++id) RC_ASSERT(values.contains(to_text(id)));
  const auto text = read_file(join_path(info.folder, "rank_0/Net/0/0/statistic.csv"));
  RC_ASSERT(text.ok() || names.empty());
  if (!text.ok()) return;
  const std::vector<std::string_view> lines = split(*text, '\n');
  RC_ASSERT(lines.size() == names.size() + 2);
  for (size_t i = 1; i + 1 < lines.size(); ++i) RC_ASSERT(split(lines[i], ',').size() == split(lines[1], ',').size());
}

TEST_F(MindsporeWriterTest, RefusesWhatItCanNotWrite) {
  const auto message = [&](CaptureSpec spec) {
    DumpInfo info;
    info.folder = folder_.path();
    const auto writer = create_tree(info, spec);
    return writer.ok() ? std::string() : writer.status().message();
  };
  CaptureSpec spec = spec_;
  spec.layout_options["net_name"] = "../up";
  EXPECT_NE(message(spec).find("net_name"), std::string::npos);
  spec = spec_;
  spec.profile = "mindspore-9/tpu";
  EXPECT_NE(message(spec).find("profile"), std::string::npos);
  spec = spec_;
  spec.payload = Payload::kDescription;
  EXPECT_NE(message(spec).find("descriptions"), std::string::npos);
  spec = spec_;
  spec.layout_options["statistic_category"] = "mean";
  EXPECT_NE(message(spec).find("\"mean\""), std::string::npos);
}

}  // namespace
}  // namespace tensortap::mindspore
