// MindSpore's dump configs through the C interface: the text of a config, an engine, the tree, and the tree read back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <regex>

#include "command/command.h"
#include "toy_graph.h"

namespace command {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The name of a tensor file, split from the right as MindSpore's own tools do.
struct Name {
  std::string type, op, time, io, slot, format, dtype;
};

Name name_of(const std::string& file) {
  std::string stem = fs::path(file).filename();
  Name name;
  stem.resize(stem.rfind('.'));
  for (std::string* part : {&name.dtype, &name.format, &name.slot, &name.io, &name.time}) {
    *part = stem.substr(stem.rfind('.') + 1);
    stem.resize(stem.rfind('.'));
  }
  for (int i = 0; i < 2; ++i) stem.resize(stem.rfind('.'));  // stream and task
  name.type = stem.substr(0, stem.find('.'));
  name.op = stem.substr(stem.find('.') + 1);
  return name;
}

class MindsporeSession : public testing::Test {
 protected:
  std::string config(const Json& changes = Json::object(), const Json& e2e = Json::object()) {
    Json common = {{"dump_mode", 0},    {"path", folder_ / "dumps"}, {"net_name", "Net"},     {"iteration", "all"},
                   {"input_output", 0}, {"kernels", Json::array()},  {"support_device", {0}}, {"op_debug_mode", 0}};
    common.update(changes);
    Json settings = {{"enable", true}};
    settings.update(e2e);
    return Json{{"common_dump_settings", common}, {"e2e_dump_settings", settings}}.dump();
  }
  [[nodiscard]] std::string rank() const { return folder_ / "dumps/rank_0"; }
  [[nodiscard]] std::string iteration(int number) const { return rank() + "/Net/0/" + std::to_string(number); }
  [[nodiscard]] std::vector<std::string> files(const std::string& folder) const { return files_like(folder, "(.*/)?[^/]*\\.npy"); }
  // "Div.in0" and the values of each tensor file of an iteration; parameters by their names, as "x.out0".
  [[nodiscard]] std::map<std::string, std::vector<float>> tensors(int number) const {
    std::map<std::string, std::vector<float>> found;
    for (const std::string& file : files(iteration(number))) {
      const Name name = name_of(file);
      const std::string key = (name.type == "Parameter" ? name.op : name.type) + "." + (name.io == "input" ? "in" : "out") + name.slot;
      EXPECT_TRUE(found.emplace(key, read_npy(iteration(number) + "/" + file).floats()).second) << key;
    }
    return found;
  }
  // The rows of a table, each by its columns.
  static std::vector<std::map<std::string, std::string>> table(const std::string& path) {
    const auto cells = [](const std::string& line) {
      std::vector<std::string> parts(1);
      bool quoted = false;
      for (const char c : line) {
        if (c == '"') {
          quoted = !quoted;
        } else if (c == ',' && !quoted) {
          parts.emplace_back();
        } else {
          parts.back() += c;
        }
      }
      return parts;
    };
    const auto lines = lines_of(read(path));
    const auto titles = cells(lines.at(0));
    std::vector<std::map<std::string, std::string>> rows;
    for (size_t i = 1; i < lines.size(); ++i) {
      EXPECT_TRUE(lines[i].ends_with(",")) << lines[i];
      const auto parts = cells(lines[i]);
      for (size_t column = 0; column < titles.size(); ++column) rows.resize(i), rows[i - 1][titles[column]] = parts.at(column);
    }
    return rows;
  }
  toy::TempFolder folder_;
};

// y = exp(relu(x) / x) + x: the division makes NaN where x is 0; the ops after it only pass it on.
void run_division(const std::string& config, const std::vector<std::vector<float>>& steps) {
  toy::Graph graph(config);
  ASSERT_EQ(graph.status(), TENSORTAP_OK) << graph.message();
  const auto x = graph.add("x", "Input");
  const auto relu = graph.add("relu", "Relu", {{x}});
  const auto divide = graph.add("divide", "Div", {{relu}, {x}});
  const auto exponent = graph.add("exponent", "Exp", {{divide}});
  const auto sum = graph.add("sum", "Add", {{exponent}, {x}});
  ASSERT_EQ(graph.bind(), TENSORTAP_OK);
  for (size_t step = 0; step < steps.size(); ++step) {
    std::vector<std::vector<float>> values(4);
    for (const float given : steps[step]) {
      values[0].push_back(std::max(given, 0.0F));
      values[1].push_back(values[0].back() / given);
      values[2].push_back(std::exp(values[1].back()));
      values[3].push_back(values[2].back() + given);
    }
    graph.step(static_cast<int64_t>(step),
               {{x, steps[step]}, {relu, values[0]}, {divide, values[1]}, {exponent, values[2]}, {sum, values[3]}});
  }
  EXPECT_EQ(graph.close(), TENSORTAP_OK);
}

// r = relu(x * w), y = softmax(r) of two elements.
void run_net(const std::string& config, int steps = 1) {
  toy::Graph graph(config);
  ASSERT_EQ(graph.status(), TENSORTAP_OK) << graph.message();
  const auto x = graph.add("x", "Input");
  const auto w = graph.add("w", "Initializer");
  const auto product = graph.add("product.1", "Mul", {{x}, {w}});
  const auto relu = graph.add("relu_1", "Relu", {{product}});
  const auto softmax = graph.add("softmax_1", "Softmax", {{relu}});
  ASSERT_EQ(graph.bind(), TENSORTAP_OK);
  graph.load(w, {3, -2});
  for (int step = 0; step < steps; ++step) {
    const auto value = static_cast<float>(step + 1);
    const float share = 1 / (1 + std::exp(-3 * value));
    graph.step(step, {{x, {value, value}}, {product, {3 * value, -2 * value}}, {relu, {3 * value, 0}}, {softmax, {share, 1 - share}}});
  }
  EXPECT_EQ(graph.close(), TENSORTAP_OK);
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float one, float other) { return one == other || (std::isnan(one) && std::isnan(other)); });
}

// --- tensors --------------------------------------------------------------------------------------------------------------------------

// M6, M18
TEST_F(MindsporeSession, EveryInputAndOutputOfEveryIterationIsTheEnginesTensor) {
  run_net(config(), 2);
  EXPECT_THAT(names_in(rank() + "/Net/0"), ElementsAre("0", "1"));
  for (const int step : {0, 1}) {
    const auto value = static_cast<float>(step + 1);
    const float share = 1 / (1 + std::exp(-3 * value));
    const std::map<std::string, std::vector<float>> expected = {
        {"x.out0", {value, value}},
        {"w.out0", {3, -2}},
        {"Mul.in0", {value, value}},
        {"Mul.in1", {3, -2}},
        {"Mul.out0", {3 * value, -2 * value}},
        {"Relu.in0", {3 * value, -2 * value}},
        {"Relu.out0", {3 * value, 0}},
        {"Softmax.in0", {3 * value, 0}},
        {"Softmax.out0", {share, 1 - share}},
    };
    EXPECT_EQ(tensors(step), expected);
  }
}

// M20, M21
TEST_F(MindsporeSession, FilesAndFoldersAreAsTheRealOnes) {
  const std::string text = config();
  run_net(text);
  for (const auto& entry : fs::recursive_directory_iterator(rank())) {
    struct stat status {};
    ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, entry.is_directory() ? 0700U : 0400U) << entry.path();
  }
  const auto order = lines_of(read(rank() + "/execution_order/ms_execution_order_graph_0.csv"));
  EXPECT_THAT(order, ElementsAre("NodeExecutionOrder-FullNameWithScope", "Default/product/1/Mul-op0", "Default/relu_1/Relu-op1",
                                 "Default/softmax_1/Softmax-op2"));
  std::set<std::string> ops;
  for (const std::string& file : files(iteration(0))) {
    const Name name = name_of(file);
    EXPECT_EQ(name.format, "DefaultFormat");
    EXPECT_EQ(name.dtype, "Float32");
    EXPECT_EQ(read(iteration(0) + "/" + file).substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    if (name.type != "Parameter") ops.insert(name.op);
  }
  EXPECT_THAT(ops, ElementsAre("Default_product_1_Mul-op0", "Default_relu_1_Relu-op1", "Default_softmax_1_Softmax-op2"));
  EXPECT_EQ(read(rank() + "/execution_order/ms_global_execution_order_graph_0.csv"), "0\n");
  EXPECT_EQ(read(rank() + "/.dump_metadata/data_dump.json"), text);
  EXPECT_EQ(Json::parse(read(rank() + "/.dump_metadata/config.json"))["device_target"], "CPU");
  const std::string graph = read(rank() + "/graphs/ms_output_trace_code_graph_0.ir");
  for (size_t i = 1; i < order.size(); ++i) EXPECT_THAT(graph, HasSubstr("# Fullname with scope: (" + order[i] + ")"));
}

// M3, M4
TEST_F(MindsporeSession, IterationsAndKernelsChoose) {
  run_net(config({{"dump_mode", 1},
                  {"kernels", {"softMAX", "name-regex(Default/.*/Relu-op[0-9]+)", "unknown/Conv-op1"}},
                  {"iteration", "1|3-4"},
                  {"initial_iteration", 1},
                  {"input_output", 2}}),
          6);
  EXPECT_THAT(names_in(rank() + "/Net/0"), ElementsAre("1", "3", "4"));
  std::set<std::string> types;
  for (const std::string& file : files(rank())) types.insert(name_of(file).type);
  EXPECT_THAT(types, ElementsAre("Relu", "Softmax"));
  EXPECT_THAT(read(rank() + "/.dump_metadata/tensortap_run.json"), HasSubstr("unknown/Conv-op1"));
}

// M9
TEST_F(MindsporeSession, ASampleIsTheFirstElements) {
  run_division(config(Json::object(), {{"sample_mode", 1}, {"sample_num", 4}}), {{1, 2, 3, 4, 5, 6}});
  const auto found = tensors(0);
  EXPECT_EQ(found.at("x.out0"), (std::vector<float>{1, 2, 3, 4}));
  for (const auto& [name, values] : found) EXPECT_EQ(values.size(), 4U) << name;
}

TEST_F(MindsporeSession, RunsStandSideBySideInOneFolder) {
  run_net(config());
  const auto first = files(rank());
  run_net(config());
  const auto both = files(rank());
  EXPECT_EQ(both.size(), 2 * first.size());
  EXPECT_TRUE(std::includes(both.begin(), both.end(), first.begin(), first.end()));
  EXPECT_EQ(read(rank() + "/execution_order/ms_global_execution_order_graph_0.csv"), "0\n0\n");
  std::set<int> calls;
  for (const Json& record : tensortap({"ls", folder_ / "dumps", "--json"}).objects()) calls.insert(record["call"].get<int>());
  EXPECT_TRUE(calls.contains(0) && calls.contains(1));
}

TEST_F(MindsporeSession, WhatWasWrittenIsReadBack) {
  run_net(config({{"saved_data", "full"}}), 2);
  const auto listed = tensortap({"ls", folder_ / "dumps", "--json"}).objects();
  EXPECT_EQ(listed.size(), files(rank()).size());
  size_t outputs = 0;
  for (const Json& record : listed) {
    if (record["type"] != "Mul" || record["slot"] != "out0") continue;
    const double value = record["step"].get<double>() + 1;
    EXPECT_EQ(record["max"], 3 * value);
    EXPECT_EQ(record["min"], -2 * value);
    EXPECT_EQ(record["shape"], Json::array({2}));
    ++outputs;
  }
  EXPECT_EQ(outputs, 2U);
}

// --- statistics -----------------------------------------------------------------------------------------------------------------------

// M7: digests of the four floats 1, 2, 3, 4, by hashlib.
TEST_F(MindsporeSession, EveryDigestThatIsAskedForIsThereWithoutTheData) {
  const std::string md5 = "b4ad64bc24f643726bddf5606af738da";
  const std::string sha1 = "c26df9440df999ae7d765499acd5ca855709702f";
  int checked = 0;
  for (const Json& categories : {Json{"hash", "md5"}, Json{"md5", "max", "hash:sha1"}, Json{"max", "hash"}}) {
    SCOPED_TRACE(categories.dump());
    std::vector<std::vector<std::map<std::string, std::string>>> found;
    for (const char* saved : {"full", "statistic"}) {
      fs::remove_all(folder_ / "dumps");
      run_division(config({{"saved_data", saved}, {"statistic_category", categories}}), {{1, 2, 3, 4}});
      EXPECT_EQ(files(rank()).empty(), std::string(saved) == "statistic");
      auto rows = table(iteration(0) + "/statistic.csv");
      for (auto& row : rows) row.erase("Timestamp");
      found.push_back(rows);
    }
    EXPECT_EQ(found[0], found[1]);
    EXPECT_EQ(found[0].size(), 11U) << "x; an input and an output of two ops; two inputs and an output of two";
    const bool has_md5 = categories.dump().find("md5") != std::string::npos;
    for (const auto& row : found[0]) {
      if (row.at("Op Name") != "x" && row.at("Op Name") != "Default/x") continue;
      EXPECT_EQ(has_md5 ? row.at("MD5") : md5, md5);
      EXPECT_EQ(row.at("SHA1"), sha1);
      ++checked;
    }
  }
  EXPECT_EQ(checked, 3);
}

std::string general(double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

// M7, M8
TEST_F(MindsporeSession, StatisticsAreTheSumsInTheTextOfMindspore) {
  const Json categories = {"l2norm", "min", "max", "avg", "count", "negative zero count", "positive zero count", "zero count", "nan count"};
  run_division(config({{"saved_data", "statistic"}, {"statistic_category", categories}}), {{-1.5F, 0.25F, 3, 0.125F, -7}});
  EXPECT_THAT(
      lines_of(read(iteration(0) + "/statistic.csv")).at(0),
      HasSubstr(",Shape,L2Norm Value,Min Value,Max Value,Avg Value,Count,Negative Zero Count,Positive Zero Count,Zero Count,NaN Count"));
  const auto rows = table(iteration(0) + "/statistic.csv");
  EXPECT_EQ(rows.size(), 11U);
  const std::map<std::string, std::vector<double>> outputs = {{"Relu", {0, 0.25, 3, 0.125, 0}}, {"Div", {-0.0, 1, 1, 1, -0.0}}};
  size_t checked = 0;
  for (const auto& row : rows) {
    const auto values = outputs.find(row.at("Op Type"));
    if (values == outputs.end() || row.at("IO") != "output") continue;
    double square = 0;
    double sum = 0;
    for (const double value : values->second) square += value * value, sum += value;
    const auto& [least, most] = std::ranges::minmax(values->second);
    const auto count = [&](auto holds) { return std::to_string(std::ranges::count_if(values->second, holds)); };
    EXPECT_EQ(row.at("Max Value"), general(most));
    EXPECT_EQ(std::stod(row.at("Min Value")), least);
    EXPECT_NEAR(std::stod(row.at("L2Norm Value")), std::sqrt(square), 1e-5);
    EXPECT_NEAR(std::stod(row.at("Avg Value")), sum / 5, 1e-5);
    EXPECT_EQ(row.at("Count"), "5");
    EXPECT_EQ(row.at("Negative Zero Count"), count([](double value) { return value < 0; }));
    EXPECT_EQ(row.at("Positive Zero Count"), count([](double value) { return value > 0; }));
    EXPECT_EQ(row.at("Zero Count"), count([](double value) { return value == 0; }));
    EXPECT_EQ(row.at("NaN Count"), "0");
    EXPECT_EQ(row.at("Data Size"), "20");
    EXPECT_EQ(row.at("Shape"), "[5]");
    ++checked;
  }
  EXPECT_EQ(checked, 2U);
}

// M7
TEST_F(MindsporeSession, StatisticsOfValuesThatAreNotFiniteAreToldAsTheyAre) {
  const Json categories = {"max", "min", "nan count", "positive inf count", "negative inf count"};
  toy::Graph graph(config({{"saved_data", "statistic"}, {"statistic_category", categories}}));
  ASSERT_EQ(graph.status(), TENSORTAP_OK) << graph.message();
  const auto op = graph.add("odd", "Odd");
  ASSERT_EQ(graph.bind(), TENSORTAP_OK);
  graph.step(0, {{op, {1, kInfinity, -2, -kInfinity, -kInfinity}}});
  graph.step(1, {{op, {1, kNan, -2, 0, kNan}}});
  ASSERT_EQ(graph.close(), TENSORTAP_OK);
  const auto infinite = table(iteration(0) + "/statistic.csv").at(0);
  EXPECT_EQ(infinite.at("Max Value"), "inf");
  EXPECT_EQ(infinite.at("Min Value"), "-inf");
  EXPECT_EQ(infinite.at("Positive Inf Count"), "1");
  EXPECT_EQ(infinite.at("Negative Inf Count"), "2");
  const auto nan = table(iteration(1) + "/statistic.csv").at(0);
  EXPECT_EQ(nan.at("Max Value"), "nan");
  EXPECT_EQ(nan.at("NaN Count"), "2");
}

// --- overflow and failures ------------------------------------------------------------------------------------------------------------

// M10
TEST_F(MindsporeSession, OverflowKeepsEveryOpWithNanInItsOutputsWithItsInputs) {
  run_division(config({{"op_debug_mode", 3}}), {{1, 0, 3}});
  auto found = tensors(0);
  std::vector<std::string> names;
  for (const auto& [name, values] : found) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("Add.in0", "Add.in1", "Add.out0", "Div.in0", "Div.in1", "Div.out0", "Exp.in0", "Exp.out0"))
      << "as MindSpore, which looks at outputs alone; the first op makes finite values";
  const std::vector<float> divided = {1, kNan, 1};
  EXPECT_TRUE(same(found["Div.out0"], divided));
  EXPECT_TRUE(same(found["Exp.in0"], divided));
  EXPECT_EQ(found["Add.in1"], (std::vector<float>{1, 0, 3}));
  EXPECT_TRUE(same(found["Add.out0"], {std::exp(1.0F) + 1, kNan, std::exp(1.0F) + 3}));
}

// M10
TEST_F(MindsporeSession, OverflowNumberLimitsTheOps) {
  run_division(config({{"op_debug_mode", 3}, {"overflow_number", 4}}), {{0, 0}, {0, 0}, {0, 0}, {0, 0}});
  const auto ops_of = [&](int step) {
    std::vector<std::string> ops;
    for (const auto& [name, values] : tensors(step)) {
      if (name.ends_with(".out0")) ops.push_back(name);
    }
    return ops;
  };
  EXPECT_THAT(ops_of(0), ElementsAre("Add.out0", "Div.out0", "Exp.out0"));
  EXPECT_THAT(ops_of(1), ElementsAre("Div.out0")) << "ops are counted, not files";
  EXPECT_FALSE(fs::exists(iteration(2)) && !files(iteration(2)).empty());
  EXPECT_EQ(files(rank() + "/Net/0").size(), files(iteration(0)).size() + files(iteration(1)).size());
}

// M10
TEST_F(MindsporeSession, WithoutOverflowThereIsNothing) {
  run_division(config({{"op_debug_mode", 3}}), {{1, 1, 1}});
  EXPECT_THAT(files(folder_.path()), IsEmpty());
}

// M11
TEST_F(MindsporeSession, ExceptionKeepsTheInputsOfTheFailingOp) {
  toy::Graph graph(config({{"op_debug_mode", 4}}));
  ASSERT_EQ(graph.status(), TENSORTAP_OK) << graph.message();
  const auto x = graph.add("x", "Input");
  const auto absolute = graph.add("abs", "Abs", {{x}});
  const auto pick = graph.add("pick", "Gather", {{absolute}, {x}});
  ASSERT_EQ(graph.bind(), TENSORTAP_OK);
  graph.step(0, {{x, {1, -2}}, {absolute, {1, 2}}});
  const std::vector<float> values = {1, 2};
  const std::vector<float> index = {7};
  const toy::FloatTensor first(values, TENSORTAP_SLOT_INPUT, 0);
  const toy::FloatTensor second(index, TENSORTAP_SLOT_INPUT, 1);
  const std::array<tensortap_tensor, 2> had = {first.c, second.c};
  const tensortap_op_event event = toy::event_of(pick, 0, had.data(), had.size());
  tensortap_op_failed(graph.session(), &event, "index 7 is out of range");
  graph.close();
  const std::map<std::string, std::vector<float>> expected = {{"Gather.in0", {1, 2}}, {"Gather.in1", {7}}};
  EXPECT_EQ(tensors(0), expected);
}

TEST_F(MindsporeSession, AFolderThatCanNotBeMadeIsAnErrorBeforeTheRun) {
  write(folder_ / "file", "");
  const toy::Graph graph(config({{"path", folder_ / "file/below"}}));
  EXPECT_NE(graph.status(), TENSORTAP_OK);
  EXPECT_THAT(graph.message(), HasSubstr("file"));
}

// --- releases -------------------------------------------------------------------------------------------------------------------------

// M24
TEST_F(MindsporeSession, ProfilesHaveTheNamesOfTheirVersion) {
  if (!has_runtime()) GTEST_SKIP() << "TENSORTAP_ONNXRUNTIME is not set";
  write(folder_ / "m.onnx", small_model());
  write(folder_ / "c.json", config({{"input_output", 2}}));
  const std::vector<std::array<std::string, 3>> cases = {
      {"mindspore-2.0", "Softmax.Softmax-op", "DefaultFormat.npy"},
      {"mindspore-2.3.2", "Softmax.Default_softmax_1_Softmax-op", "DefaultFormat.npy"},
      {"mindspore-2.10/gpu", "Softmax.Default_softmax_1_Softmax-op", "DefaultFormat.float32.npy"},
  };
  for (const auto& [profile, begin, end] : cases) {
    fs::remove_all(folder_ / "dumps");
    const Done done = tensortap({"run", "m.onnx", "--config", "c.json", "--profile", profile}, {folder_.path()});
    ASSERT_EQ(done.code, 0) << done.said();
    const auto names = files_like(iteration(0), "Softmax\\.[^/]*\\.npy");
    ASSERT_EQ(names.size(), 1U) << profile;
    EXPECT_THAT(names[0], StartsWith(begin));
    EXPECT_THAT(names[0], testing::EndsWith(end));
    EXPECT_EQ(tensortap({"ls", folder_ / "dumps", "--json"}).objects().size(), files(rank()).size());
  }
}

// M5: of jobs in tests/mindspore_devices_test.py.
TEST_F(MindsporeSession, DevicesAreOfNoMeaningOnACpuAndElsewhereThoseOfTheRank) {
  if (!has_runtime()) GTEST_SKIP() << "TENSORTAP_ONNXRUNTIME is not set";
  write(folder_ / "m.onnx", small_model());
  const std::vector<std::pair<Json, std::string>> nothing = {{{1}, "all"}, {Json::array(), "all"}, {{0}, "3-1"}};
  for (const auto& [devices, iterations] : nothing) {
    write(folder_ / "c.json", config({{"support_device", devices}, {"iteration", iterations}}));
    tensortap("run m.onnx --config c.json --profile mindspore-2.10/gpu", {folder_.path()});
    EXPECT_THAT(files(folder_.path()), IsEmpty()) << devices << iterations;
    EXPECT_THAT(files_like(folder_.path(), ".*/9223372036854775807"), IsEmpty());
  }
  write(folder_ / "c.json", config({{"support_device", {1}}}));
  EXPECT_EQ(tensortap("run m.onnx --config c.json", {folder_.path()}).code, 0);
  EXPECT_FALSE(files(rank()).empty());
}

}  // namespace
}  // namespace command
