#include "convert/node_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/temporary_folder.h"
#include "trace/vector_dump_index.h"

namespace tensortap {
namespace {

using testing::HasSubstr;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct NodeDataDump : VectorDumpIndex {
  OpId op(const std::string& name, const std::string& output, const std::vector<OriginalNode>& originals = {}) {
    OpInfo info;
    info.name = name;
    info.outputs = {output};
    info.originals = originals;
    return add_op(std::move(info));
  }
  RecordRow& out(OpId id, int64_t step, double absmax, double min = 0) {
    RecordRow row;
    row.op = id;
    row.step = step;
    row.set_desc({DType::kFloat32, {4}});
    row.stats.absmax = absmax;
    row.stats.min = min;
    row.stats.count = 4;
    row.stats.valid = kStatAbsMax | kStatMin | kStatNan | kStatPosInf | kStatNegInf;
    return all_rows[add(row)];
  }
};

struct Written {
  Status status;
  Json data;
};

Written node_data(const DumpIndex& dump, const std::string& key = "", const std::string& graph = "") {
  const TemporaryFolder folder;
  const std::string made = join_path(folder.path(), "made");
  TargetFolder target(join_path(made, "here"));
  ConvertRequest request;
  request.sources = {"dump"};
  request.key = key;
  request.graph = graph;
  ConvertReport report;
  Written written{export_node_data(dump, request, "heat.json", target, report), {}};
  EXPECT_EQ(path_exists(made), written.status.ok()) << "a refusal makes nothing";
  if (!written.status.ok()) return written;
  const auto text = read_file(join_path(target.path(), "heat.json"), 1 << 20);
  EXPECT_TRUE(text.ok());
  EXPECT_EQ(text->size(), target.bytes());
  written.data = *parse_json(*text, "heat.json");
  return written;
}

TEST(NodeData, AValueStandsUnderEveryNameOfItsNode) {
  NodeDataDump dump;
  dump.out(dump.op("fused", "r", {{"/net/MatMul", "MatMul"}, {"/net/Relu", "Relu"}}), 0, 3);
  OpInfo weight;
  weight.name = "w";
  weight.type = kInitializerType;
  weight.outputs = {"w"};
  dump.out(dump.add_op(weight), 0, 2);
  const Json results = node_data(dump).data["results"];
  EXPECT_EQ(results, (Json{{"/net/Relu", {{"value", 3.0}}},
                           {"[value] w", {{"value", 2.0}}},
                           {"fused", {{"value", 3.0}}},
                           {"r", {{"value", 3.0}}},
                           {"w", {{"value", 2.0}}}}));
}

TEST(NodeData, OfSeveralRecordsTheLargestCountsAndOfMinTheSmallest) {
  NodeDataDump dump;
  const OpId op = dump.op("a", "a");
  dump.out(op, 0, 1, -1);
  dump.out(op, 1, 5, -5);
  dump.out(op, 2, 2, -2);
  EXPECT_EQ(node_data(dump).data["results"]["a"]["value"], 5.0);
  EXPECT_EQ(node_data(dump, "min").data["results"]["a"]["value"], -5.0);
}

TEST(NodeData, WhatIsNotFiniteIsRedAndAWord) {
  NodeDataDump dump;
  const OpId nan = dump.op("nan", "nan");
  dump.out(nan, 0, 7);
  dump.out(nan, 1, kNotANumber);
  dump.out(nan, 2, 9);
  dump.out(dump.op("inf", "inf"), 0, kInfinity).stats.pos_inf = 1;
  dump.out(dump.op("skipped", "skipped"), 0, 4).stats.nan = 1;
  dump.out(dump.op("fine", "fine"), 0, 4);
  const Json data = node_data(dump).data;
  const Json results = data["results"];
  EXPECT_EQ(results["nan"]["value"], "nan");
  EXPECT_EQ(results["inf"], (Json{{"value", "inf"}, {"bgColor", "#d7191c"}}));
  EXPECT_EQ(results["skipped"], (Json{{"value", 4.0}, {"bgColor", "#d7191c"}}));
  EXPECT_FALSE(results["fine"].contains("bgColor"));
}

TEST(NodeData, StopsOfTheGradientGrowFromZeroToOne) {
  struct Case {
    const char* what;
    std::vector<double> values;
  };
  const double largest = std::numeric_limits<double>::max();
  const std::vector<Case> cases = {{"one", {3}},
                                   {"equal", {2, 2, 2, 2, 2, 2}},
                                   {"spread", {1, 10, 100, 1000, 10000}},
                                   {"far apart", {-largest, 0, 1, 2, largest}},
                                   {"close", {1, 1, 1, 1, std::nextafter(1.0, 2.0)}}};
  for (const auto& [what, values] : cases) {
    NodeDataDump dump;
    for (size_t i = 0; i < values.size(); ++i) {
      dump.out(dump.op(std::to_string(i), ""), 0, values[i]);
    }
    const Json gradient = node_data(dump).data["gradient"];
    ASSERT_GE(gradient.size(), 2U) << what;
    EXPECT_EQ(gradient.front()["stop"], 0.0) << what;
    EXPECT_EQ(gradient.back()["stop"], 1.0) << what;
    for (size_t i = 1; i < gradient.size(); ++i) {
      EXPECT_GT(gradient[i]["stop"].get<double>(), gradient[i - 1]["stop"].get<double>()) << what;
    }
  }
}

TEST(NodeData, EveryColourHasItsPartOfTheValues) {
  NodeDataDump dump;
  for (int i = 0; i <= 100; ++i) dump.out(dump.op(std::to_string(i), ""), 0, std::pow(10.0, i / 10.0));
  const Json gradient = node_data(dump).data["gradient"];
  ASSERT_EQ(gradient.size(), 5U);
  const double extent = 1e10 - 1;
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_NEAR(gradient[i]["stop"], (std::pow(10.0, 2.5 * static_cast<double>(i)) - 1) / extent, 1e-9) << i;
  }
}

TEST(NodeData, WhatIsNoValueIsLeftOut) {
  NodeDataDump dump;
  dump.out(dump.op("unwritten", ""), 0, 1).flags = kRecordUnwritten;
  dump.out(dump.op("before", ""), 0, 1).moment = static_cast<uint8_t>(Moment::kBefore);
  dump.out(dump.op("input", ""), 0, 1).slot_kind = static_cast<uint8_t>(SlotKind::kInput);
  dump.out(dump.op("unmeasured", ""), 0, 1).stats.valid = 0;
  dump.out(dump.op("empty", ""), 0, kNotANumber).stats.count = 0;
  EXPECT_EQ(node_data(dump).status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(node_data(dump).status.message(), HasSubstr("no output has absmax"));
  EXPECT_THAT(node_data(dump, "duration").status.message(), HasSubstr("no output has duration"));
  dump.out(dump.op("ran", ""), 0, 1).duration_ns = 30;
  EXPECT_EQ(node_data(dump, "duration").data["results"], (Json{{"ran", {{"value", 30.0}}}}));
}

TEST(NodeData, HostileNamesStayNames) {
  NodeDataDump dump;
  const std::string name = "</script><img onerror=\"x\">\n\x1b[2J\xff";
  dump.out(dump.op(name, ""), 0, 1);
  const Json data = node_data(dump, "", "\"graph\"\n").data;
  ASSERT_TRUE(data.contains("\"graph\"\n"));
  EXPECT_EQ(data["\"graph\"\n"]["results"].begin().key(), "</script><img onerror=\"x\">\n\x1b[2J\xEF\xBF\xBD");
}

TEST(NodeData, WrongWordsAreRefusedWithTheRightOnes) {
  NodeDataDump dump;
  dump.out(dump.op("a", "a"), 0, 1);
  EXPECT_THAT(node_data(dump, "absmx").status.message(), HasSubstr("Did you mean \"absmax\""));
  EXPECT_THAT(node_data(dump, "op").status.message(), HasSubstr("--key: unknown statistic \"op\""));
}

}  // namespace
}  // namespace tensortap
