// Graph, colours, search, series and the way of a NaN, of a small dump.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "query/query_dump.h"
#include "serve/web_answers.h"

namespace tensortap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint32_t kNoNode = 0xffffffffU;

// x -> a/Sub -> a/Log -> b/<Sum> -> out, whose Log makes a NaN in step 1 that Sum gives on.
struct NanDump : VectorDumpIndex {
  NanDump() {
    add_op(named("x", std::string(kInputType), {}, "x"));
    add_op(named("a/Sub", "Sub", {{"x", 0, 0}}, "s"));
    add_op(named("a/Log", "Log", {{"s", 1, 0}}, "l"));
    add_op(named("b/<Sum>", "ReduceSum", {{"l", 2, 0}}, "y"));
    all_ops[2].source_location = "net.py:17";
    all_ops[3].originals = {{"author/sum", "Sum"}};
    for (int64_t step = 0; step < 4; step += step == 1 ? 2 : 1) {  // 0, 1, 3
      for (OpId op = 0; op < 4; ++op) add(output(op, step, step == 1 && op >= 2 ? 3 : 0));
    }
  }
  static OpInfo named(std::string name, std::string type, std::vector<OpInput> inputs, std::string value) {
    OpInfo op = QueryDump::op(std::move(name), std::move(type));
    op.inputs = std::move(inputs);
    op.outputs = {std::move(value)};
    return op;
  }
  RecordRow output(OpId op, int64_t step, uint64_t nan) {
    RecordRow row = QueryDump::record(op, step, SlotKind::kOutput, op + 1.0);
    row.sequence = sequence_++;
    row.stats.absmax = 1000.0 * (op + 1);
    row.stats.nan = nan;
    row.stats.zero = op;
    row.stats.count = 4;
    row.stats.valid |= kStatAbsMax | kStatNonFinite | kStatZero;
    return row;
  }

 private:
  uint64_t sequence_ = 0;
};

Answer answer_to(const std::string& target) {
  static const auto answers = WebAnswers::of(ServedDump::of("made", std::make_unique<NanDump>()), nullptr);
  return answers->get(target);
}

Json asked_of(const std::string& target, int status = 200) {
  const Answer answer = answer_to(target);
  EXPECT_EQ(answer.status, status) << target << "\n" << answer.body;
  return Json::parse(answer.body);
}

template <class T>
std::vector<T> numbers_at(const std::string& bytes, size_t& at, size_t count) {
  std::vector<T> numbers(count);
  EXPECT_LE(at + count * sizeof(T), bytes.size());
  std::memcpy(numbers.data(), bytes.data() + at, count * sizeof(T));
  at += count * sizeof(T);
  return numbers;
}

std::vector<float> heat_by(const std::string& query) {
  const Answer answer = answer_to("/api/heat?" + query);
  EXPECT_EQ(answer.status, 200) << answer.body;
  size_t at = 0;
  const auto header = numbers_at<uint32_t>(answer.body, at, 2);
  EXPECT_EQ(header[0], 0x54484554U);
  EXPECT_EQ(header[1], 4U);
  numbers_at<float>(answer.body, at, 2);
  return numbers_at<float>(answer.body, at, 4);
}

TEST(WebGraph, GroupsOpenAndClose) {
  const Json all = asked_of("/api/graph?open=all");
  EXPECT_THAT(all.at("open"), testing::UnorderedElementsAre("g:a", "g:b"));
  const Json closed = asked_of("/api/graph?open=none");
  EXPECT_THAT(closed.at("open"), IsEmpty());
  EXPECT_EQ(closed.at("nodes").size(), 3U) << "x and two groups";
  const Json one = asked_of("/api/graph?open=none&plus=g%3Aa");
  EXPECT_THAT(one.at("open"), ElementsAre("g:a"));
  EXPECT_THAT(asked_of("/api/graph?open=all&minus=g%3Aa").at("open"), ElementsAre("g:b"));
  EXPECT_THAT(asked_of("/api/graph?open=none&op=3").at("open"), ElementsAre("g:b")) << "the group that hides the op is open";
  EXPECT_THAT(asked_of("/api/graph?open=some", 400).at("error"), HasSubstr("not one of"));
  EXPECT_THAT(asked_of("/api/graph?op=4", 400).at("error"), HasSubstr("op"));
}

TEST(WebGraph, EveryOpHasTheNodeThatShowsIt) {
  const Json graph = asked_of("/api/graph?open=none&plus=g%3Aa");
  const Json& nodes = graph.at("nodes");
  ASSERT_EQ(graph.at("shown").size(), 4U);
  const auto node_of = [&](size_t op) { return nodes.at(graph.at("shown").at(op).get<size_t>()); };
  EXPECT_EQ(node_of(1).at("op"), 1);
  EXPECT_EQ(node_of(1).at("name"), "Sub");
  EXPECT_EQ(nodes.at(node_of(1).at("parent").get<size_t>()).at("id"), "g:a");
  EXPECT_EQ(node_of(3).at("id"), "g:b") << "a closed group represents its ops";
  EXPECT_EQ(node_of(3).at("ops"), 1);
}

TEST(WebGraph, TheBinaryFormSaysTheSame) {
  const Json json = asked_of("/api/graph?open=all");
  const Answer binary = answer_to("/api/graph.bin?open=all");
  ASSERT_EQ(binary.status, 200);
  EXPECT_EQ(binary.type, "application/octet-stream");
  size_t at = 0;
  const auto header = numbers_at<uint32_t>(binary.body, at, 8);
  const size_t nodes = header[2];
  ASSERT_EQ(header[0], 0x47505454U);
  ASSERT_EQ(nodes, json.at("nodes").size());
  ASSERT_EQ(header[3], json.at("edges").size());
  const auto boxes = numbers_at<float>(binary.body, at, 4 * nodes);
  const auto ops = numbers_at<uint32_t>(binary.body, at, nodes);
  const auto parents = numbers_at<int32_t>(binary.body, at, nodes);
  numbers_at<uint32_t>(binary.body, at, nodes);
  const auto flags = numbers_at<uint32_t>(binary.body, at, nodes);
  const auto offsets = numbers_at<uint32_t>(binary.body, at, nodes);
  const auto lengths = numbers_at<uint32_t>(binary.body, at, nodes);
  const auto edges = numbers_at<uint32_t>(binary.body, at, 4 * size_t{header[3]});
  numbers_at<float>(binary.body, at, header[4]);
  const std::string texts = binary.body.substr(at, header[5]);
  at += header[5];
  const auto types = numbers_at<uint32_t>(binary.body, at, 2 * nodes);
  for (size_t i = 0; i < nodes; ++i) {
    const Json& node = json.at("nodes")[i];
    const bool is_group = node.at("kind") == "group";
    EXPECT_FLOAT_EQ(boxes[4 * i], node.at("x").get<float>());
    EXPECT_FLOAT_EQ(boxes[4 * i + 3], node.at("h").get<float>());
    EXPECT_EQ(ops[i], is_group ? kNoNode : node.at("op").get<uint32_t>());
    EXPECT_EQ(parents[i], node.at("parent").get<int32_t>());
    EXPECT_EQ(flags[i], (is_group ? 1U : 0U) | (node.at("captured") == true ? 2U : 0U) | (node.at("open") == true ? 4U : 0U));
    std::string name = node.at("name");
    if (is_group) name += std::string(1, '\0') + node.at("id").get<std::string>();
    EXPECT_EQ(texts.substr(offsets[i], lengths[i]), name);
    EXPECT_EQ(texts.substr(types[2 * i], types[2 * i + 1]), node.at("type").get<std::string>());
  }
  for (size_t i = 0; i < header[3]; ++i) EXPECT_EQ(edges[4 * i + 1], json.at("edges")[i].at("to").get<uint32_t>());
  const auto count = numbers_at<uint32_t>(binary.body, at, 1);
  ASSERT_EQ(count[0], 4U);
  EXPECT_EQ(Json(numbers_at<uint32_t>(binary.body, at, 4)), json.at("shown"));
  EXPECT_EQ(at, binary.body.size());
}

TEST(WebHeat, IsWhatTheRecordsSay) {
  EXPECT_THAT(heat_by("by=nonfinite"), ElementsAre(0, 0, 3, 3));
  EXPECT_THAT(heat_by("by=nonfinite&step=0"), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(heat_by("by=absmax&step=3"), ElementsAre(1000, 2000, 3000, 4000));
  EXPECT_THAT(heat_by("by=zero"), ElementsAre(0, 0.25F, 0.5F, 0.75F));
  EXPECT_FLOAT_EQ(heat_by("by=headroom")[3], static_cast<float>(std::log2(65504.0 / 4000)));
  EXPECT_TRUE(std::isnan(heat_by("by=std")[0])) << "not measured";
  EXPECT_TRUE(std::isnan(heat_by("by=absmax&step=2")[0])) << "no such step";
  EXPECT_THAT(asked_of("/api/heat?by=colour", 400).at("error"), HasSubstr("not one of nonfinite"));
  EXPECT_THAT(asked_of("/api/heat?by=error", 404).at("error"), HasSubstr("only one dump"));
}

TEST(WebSearch, FindsNamesOfEveryKind) {
  const auto first = [](const std::string& text) { return asked_of("/api/search?q=" + text).at("items").at(0); };
  EXPECT_EQ(first("a%2Fsu").at("name"), "a/Sub");
  EXPECT_EQ(first("a%2FSU").at("fragment"), "#graph?op=1");
  EXPECT_EQ(first("a%2Flog").at("op_id"), 2);
  EXPECT_EQ(first("reducesum").at("kind"), "type");
  EXPECT_EQ(first("reducesum").at("fragment"), "#table?type=ReduceSum");
  EXPECT_EQ(first("net.py").at("kind"), "source");
  EXPECT_EQ(first("author").at("kind"), "original");
  const Json group = asked_of("/api/search?q=a");
  EXPECT_EQ(group.at("items")[0].at("group"), "g:a") << "a whole name comes first";
  EXPECT_EQ(asked_of("/api/search?q=nothing").at("total"), 0);
  EXPECT_EQ(asked_of("/api/search?q=").at("total"), 0);
  EXPECT_EQ(first("%3Csum%3E").at("name"), "b/<Sum>");
}

TEST(WebSeries, GapsStayGaps) {
  const Json answer = asked_of("/api/series?op=2&slot=out0&key=nan,absmax");
  ASSERT_EQ(answer.at("series").size(), 1U);
  const Json& series = answer.at("series")[0];
  EXPECT_EQ(series.at("steps"), Json({0, 1, 3}));
  EXPECT_EQ(series.at("records"), Json({2, 6, 10}));
  EXPECT_EQ(series.at("keys").at("nan"), Json({0, 3, 0}));
  EXPECT_EQ(series.at("keys").at("absmax"), Json({3000.0, 3000.0, 3000.0}));
  EXPECT_EQ(answer.at("gaps"), Json({2}));
  EXPECT_EQ(asked_of("/api/series?op=2&slot=in0").at("series").size(), 0U);
  EXPECT_THAT(asked_of("/api/series?op=2&key=abmax", 400).at("error"), HasSubstr("Did you mean \"absmax\""));
  EXPECT_THAT(asked_of("/api/series?op=9", 404).at("error"), HasSubstr("op 9"));
  EXPECT_THAT(asked_of("/api/series?op=2&slot=up", 400).at("error"), HasSubstr("not a slot"));
  EXPECT_EQ(asked_of("/api/trends").at("trends"), Json::array());
}

// A training: the loss is made in forward and passed to the backward pass, gradients come to two parameters, one of them in two parts.
struct TrainedDump : VectorDumpIndex {
  TrainedDump() {
    add_op(QueryDump::op("net/loss", "nll"));
    OpInfo backward = QueryDump::op("backward", "Backward");
    backward.attributes = R"({"sees_loss": true})";
    add_op(backward);
    OpInfo wrote = QueryDump::op("net.head/mm", "mm");
    wrote.module = "net.head";
    add_op(wrote);
    add_op(QueryDump::op("AccumulateGrad", "AccumulateGrad"));
    for (int64_t step = 0; step < 2; ++step) {
      add(record(0, step, SlotKind::kOutput, 1, step + 2.0));
      add(record(1, step, SlotKind::kInput, 1, step + 2.0));
      add(record(2, step, SlotKind::kOutput, 7, 3));
      add(record(3, step, SlotKind::kOutput, 7, step == 0 ? 3 : 5));
      add(record(3, step, SlotKind::kOutput, 8, 4));
    }
  }
  RecordRow record(OpId op, int64_t step, SlotKind kind, uint64_t storage, double l2) {
    RecordRow row = QueryDump::record(op, step, kind, l2);
    row.sequence = sequence_++;
    row.storage = storage;
    row.version = static_cast<uint64_t>(step);
    row.numel = 1;
    row.stats.l2 = l2;
    row.stats.valid |= kStatL2 | kStatMean;
    row.stats.mean = l2;
    return row;
  }

 private:
  uint64_t sequence_ = 0;
};

Json preset_of(const std::string& query, int status = 200) {
  static const auto answers = WebAnswers::of(ServedDump::of("trained", std::make_unique<TrainedDump>()), nullptr);
  const Answer answer = answers->get("/api/preset" + query);
  EXPECT_EQ(answer.status, status) << query << "\n" << answer.body;
  return Json::parse(answer.body);
}

TEST(WebSearch, AModulesSpellingFindsTheOperators) {
  static const auto answers = [] {
    auto dump = std::make_unique<VectorDumpIndex>();
    dump->add_op(QueryDump::op("net.norm/native_layer_norm", "native_layer_norm"));
    dump->add_op(QueryDump::op("net.norm/NativeLayerNormBackward0/mul", "mul"));
    return WebAnswers::of(ServedDump::of("norms", std::move(dump)), nullptr);
  }();
  const Json found = Json::parse(answers->get("/api/search?q=LayerNorm").body);
  ASSERT_EQ(found.at("total"), 4) << "a type, two ops and a module";
  EXPECT_EQ(found.at("items")[0].at("kind"), "type");
  EXPECT_EQ(found.at("items")[0].at("fragment"), "#table?type=native_layer_norm");
  EXPECT_EQ(Json::parse(answers->get("/api/search?q=LayerNorms").body).at("total"), 0);
}

TEST(WebPreset, TheLossIsWhatTheBackwardPassWasGiven) {
  const Json loss = preset_of("?name=loss").at("series");
  ASSERT_EQ(loss.size(), 1U);
  EXPECT_EQ(loss[0].at("op"), "net/loss");
  EXPECT_EQ(loss[0].at("steps"), Json({0, 1}));
  EXPECT_EQ(loss[0].at("keys").at("mean"), Json({2.0, 3.0}));
}

TEST(WebPreset, GradientsAreNormsOfModules) {
  const Json gradients = preset_of("?name=gradients").at("series");
  ASSERT_EQ(gradients.size(), 2U);
  EXPECT_EQ(gradients[0].at("op"), "(no module)");
  EXPECT_EQ(gradients[0].at("keys").at("l2"), Json({4.0, 4.0}));
  EXPECT_EQ(gradients[1].at("op"), "net.head");
  EXPECT_EQ(gradients[1].at("keys").at("l2"), Json({3.0, 5.0}));
}

TEST(WebPreset, WhatIsAskedWronglyIsOneError) {
  const std::pair<const char*, const char*> wrong[] = {
      {"?name=los", "loss"}, {"?name=loss&step=1", "step"}, {"?nam=loss", "nam"}, {"?name=loss&dump=c", "dump"}};
  for (const auto& [query, words] : wrong) {
    const Json answer = preset_of(query, 400);
    EXPECT_EQ(answer.size(), 1U) << query;
    EXPECT_THAT(answer.at("error"), HasSubstr(words)) << query;
  }
  EXPECT_EQ(preset_of("/loss", 404).size(), 1U);
  // A dump of an inference has neither.
  EXPECT_EQ(asked_of("/api/preset?name=gradients").at("series"), Json::array());
  EXPECT_EQ(asked_of("/api/preset?name=loss").at("series"), Json::array());
}

TEST(WebOverview, HasTheExtremesOfEachOp) {
  const Json overview = asked_of("/api/overview");
  for (const char* list : {"largest", "closest", "biggest"}) {
    std::vector<int> ops;
    for (const Json& line : overview.at(list)) ops.push_back(line.at("op_id").get<int>());
    std::sort(ops.begin(), ops.end());
    EXPECT_EQ(std::unique(ops.begin(), ops.end()), ops.end()) << list << ": two lines of one op";
    EXPECT_LE(overview.at(list).size(), 5U);
  }
  const Json& largest = overview.at("largest");
  ASSERT_FALSE(largest.empty());
  EXPECT_EQ(largest[0].at("op"), "b/<Sum>");
  EXPECT_EQ(largest[0].at("absmax"), 4000.0);
  EXPECT_EQ(overview.at("slowest"), Json::array()) << "no time was measured";
  const std::pair<const char*, const char*> wrong[] = {{"?limit=3", "limit"}, {"?dump=x", "dump"}};
  for (const auto& [query, words] : wrong) {
    const Json answer = asked_of(std::string("/api/overview") + query, 400);
    EXPECT_EQ(answer.size(), 1U);
    EXPECT_THAT(answer.at("error"), HasSubstr(words));
  }
}

TEST(WebFlow, LeadsFromWhereItBegan) {
  const Json flow = asked_of("/api/flow?record=7");
  EXPECT_EQ(flow.at("ops"), Json({2, 3}));
  EXPECT_EQ(flow.at("records"), Json({6, 7}));
  EXPECT_EQ(flow.at("origin").at("kind"), "op");
  EXPECT_THAT(asked_of("/api/flow?record=0", 404).at("error"), HasSubstr("holds no NaN"));
}

TEST(WebOp, SaysWhatIsKnown) {
  const Json op = asked_of("/api/op/2");
  EXPECT_EQ(op.at("name"), "a/Log");
  EXPECT_EQ(op.at("source"), "net.py:17");
  EXPECT_EQ(op.at("captured"), true);
  EXPECT_EQ(op.at("reason"), "");
  EXPECT_EQ(op.at("records"), 3);
  EXPECT_EQ(op.at("steps"), Json({{"first", 0}, {"last", 3}, {"count", 3}}));
  EXPECT_EQ(op.at("forward"), nullptr);
  EXPECT_EQ(asked_of("/api/op/3").at("originals")[0].at("name"), "author/sum");
  EXPECT_THAT(asked_of("/api/op/4", 404).at("error"), HasSubstr("the dump has 4"));
}

}  // namespace
}  // namespace tensortap
