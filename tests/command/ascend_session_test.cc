// AscendCL's dump configs through the C interface: which ops, slots and steps of which models are in the tree, and the repaired tree.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "command/command.h"
#include "toy_graph.h"

namespace command {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// y = ceil(floor(neg(x))) of a model "net.v1" with the graph "g".
constexpr float kValue = 1.5F;

class AscendSession : public testing::Test {
 protected:
  static Json every_op() { return Json::array({Json::object()}); }
  // Runs the model under a config; what is in the tree as "step op slot", the inputs that files of an op hold with it.
  std::vector<std::string> captured(Json dump, int steps = 1, const std::string& model = "net.v1") {
    fs::remove_all(folder_ / "dump");
    fs::create_directory(folder_ / "dump");
    dump["dump_path"] = folder_ / "dump";
    toy::Graph graph(Json{{"dump", dump}}.dump(), model);
    EXPECT_EQ(graph.status(), TENSORTAP_OK) << graph.message();
    const auto x = graph.add("x", "Input");
    const auto negated = graph.add("neg_1", "Neg", {{x}});
    const auto floored = graph.add("floor_1", "Floor", {{negated}});
    const auto raised = graph.add("ceil_1", "Ceil", {{floored}});
    EXPECT_EQ(graph.bind(), TENSORTAP_OK);
    for (int step = 0; step < steps; ++step) {
      const float value = kValue + static_cast<float>(step);
      graph.step(step, {{x, {value}}, {negated, {-value}}, {floored, {-value - 0.5F}}, {raised, {-value - 0.5F}}});
    }
    notes_ = graph.report()["notes"].dump();
    EXPECT_EQ(graph.close(), TENSORTAP_OK);
    std::vector<std::string> found;
    if (fs::is_empty(folder_ / "dump")) return found;
    for (const Json& record : tensortap({"ls", folder_ / "dump", "--json"}).objects()) {
      found.push_back(std::to_string(record["step"].get<int>()) + " " + record["op"].get<std::string>() + " " +
                      record["slot"].get<std::string>());
    }
    return found;
  }
  // The same of outputs alone.
  std::vector<std::string> outputs(Json dump, int steps = 1, const std::string& model = "net.v1") {
    dump["dump_mode"] = "output";
    return captured(std::move(dump), steps, model);
  }
  toy::TempFolder folder_;
  std::string notes_;
};

// A3
TEST_F(AscendSession, ModelsAreNamedByFileAndByGraph) {
  for (const char* name : {"net.v1", "g"}) {
    EXPECT_THAT(outputs({{"dump_list", {{{"model_name", name}, {"layer", {"floor_1"}}}}}}), ElementsAre("0 floor_1 out0")) << name;
  }
  EXPECT_THAT(outputs({{"dump_list", {{{"model_name", "net"}}}}}), IsEmpty());
  EXPECT_THAT(notes_, HasSubstr("the model \\\"net\\\""));
}

// A3, A9
TEST_F(AscendSession, InputsOfTheGraphComeWithTheirReaderAndStepsAreChosen) {
  const Json list = Json::array({{{"model_name", "g"}, {"layer", {"neg_1"}}}});
  EXPECT_THAT(outputs({{"dump_list", list}, {"dump_step", "1|3-4"}}, 6),
              ElementsAre("1 x out0", "1 neg_1 out0", "3 x out0", "3 neg_1 out0", "4 x out0", "4 neg_1 out0"));
}

// A4, A5
TEST_F(AscendSession, BlacklistsAndRangesLeaveOut) {
  const Json item = {{"model_name", "net.v1"},
                     {"opname_range", Json::array({{{"begin", "floor_1"}, {"end", "ceil_1"}}})},
                     {"optype_blacklist", Json::array({{{"name", "Ceil"}, {"pos", Json::array({"output0"})}}})}};
  EXPECT_THAT(outputs({{"dump_level", "op"}, {"dump_list", Json::array({item})}}), ElementsAre("0 floor_1 out0"));
}

// A4
TEST_F(AscendSession, AnOutputThatIsLeftOutIsAnInputOfTheOpThatReadsIt) {
  const Json item = {{"model_name", "net.v1"}, {"optype_blacklist", Json::array({{{"name", "Floor"}, {"pos", Json::array({"output0"})}}})}};
  const Json dump = {{"dump_level", "op"}, {"dump_list", Json::array({item})}};
  Json all = dump;
  all["dump_mode"] = "all";
  EXPECT_THAT(captured(all), testing::IsSupersetOf({"0 floor_1 in0", "0 ceil_1 in0", "0 ceil_1 out0", "0 neg_1 out0"}));
  EXPECT_THAT(captured(all), testing::Not(testing::Contains("0 floor_1 out0")));
  EXPECT_THAT(outputs(dump), testing::ElementsAre("0 x out0", "0 neg_1 out0", "0 ceil_1 out0"));
}

TEST_F(AscendSession, WhatAsksForNothingCapturesNothing) { EXPECT_THAT(outputs({{"dump_list", Json::array()}}), IsEmpty()); }

// A16
TEST_F(AscendSession, ACutTreeIsMendedAndSaysWhatItLost) {
  const auto whole = captured({{"dump_list", every_op()}, {"dump_mode", "all"}});
  const std::string dump = folder_ / "dump";
  EXPECT_EQ(tensortap({"repair", dump, "--json"}).object()["healthy"], true);
  const auto files = files_like(dump, ".*/Ceil\\.[^/]*");
  ASSERT_EQ(files.size(), 1U);
  const std::string file = dump + "/" + files[0];
  fs::resize_file(file, fs::file_size(file) - 1);
  Json dry = tensortap({"repair", dump, "--dry-run", "--json"}).object();
  const Json done = tensortap({"repair", dump, "--json"}).object();
  EXPECT_EQ(dry["dry_run"], true);
  dry["dry_run"] = false;
  EXPECT_EQ(dry, done);
  EXPECT_EQ(done["healthy"], false);
  EXPECT_EQ(done["records_kept"], whole.size() - 1);
  EXPECT_EQ(done["records_lost"], 1);
  EXPECT_THAT(done["lost"][0].get<std::string>(), HasSubstr(fs::path(file).filename().string()));
  const Done listed = tensortap({"ls", dump, "--json"});
  EXPECT_THAT(listed.err, testing::Not(HasSubstr("cut")));
  EXPECT_EQ(listed.objects().size(), whole.size() - 1);
  EXPECT_EQ(tensortap({"repair", dump, "--json"}).object()["healthy"], true);
}

}  // namespace
}  // namespace command
