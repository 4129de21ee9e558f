// The ring: the tensors of the last ops stay in memory and are written when the trigger fires.  B6

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "toy_memory.h"

namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using toy::add_op;
using toy::open_session;
using toy::run_op;

constexpr float kInf = std::numeric_limits<float>::infinity();

// What a dump holds: names, "*" behind those that came out of the ring, in the order of their events.
std::vector<std::string> names_of(const tensortap::DumpIndex& dump) {
  std::vector<std::pair<uint64_t, std::string>> found;
  for (const auto& row : dump.rows()) {
    const bool from_ring = (row.flags & tensortap::kRecordFromRing) != 0;
    found.emplace_back(row.sequence, tensortap::record_name(row, tensortap::op_of(dump, row).name) + (from_ring ? "*" : ""));
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (auto& [sequence, name] : found) names.push_back(std::move(name));
  return names;
}

json ring_config(json config, uint64_t ops) {
  config["limits"]["ring_ops"] = ops;
  return config;
}

struct Engine {
  explicit Engine(const json& config) : opened(open_session(config, folder / "dump")) {
    EXPECT_EQ(opened.status, TENSORTAP_OK) << opened.message;
    for (int i = 0; i < 6; ++i) ops.push_back(add_op(opened.session, "op" + std::to_string(i)));
  }
  std::unique_ptr<tensortap::DumpIndex> close() {
    EXPECT_EQ(tensortap_session_close(opened.session), TENSORTAP_OK);
    return toy::read_dump(folder / "dump");
  }
  void run(int op, std::vector<float> values) const { run_op(opened.session, ops[static_cast<size_t>(op)], 0, values); }

  const toy::TempFolder folder;
  const toy::Opened opened;
  std::vector<tensortap_op_id> ops;
};

TEST(Ring, ConditionWritesTheOpsBeforeTheOneThatMeetsIt) {
  Engine engine(ring_config({{"where", "max > 50"}}, 2));
  for (int op = 0; op < 4; ++op) engine.run(op, {static_cast<float>(op), 1});
  engine.run(4, {100, 1});
  engine.run(5, {5, 1});
  const json report = toy::report_of(engine.opened.session);
  EXPECT_EQ(report["ring"], (json{{"ops", 2}, {"fired", 1}, {"records", 2}, {"let_go_for_memory", 0}}));
  const auto dump = engine.close();
  EXPECT_THAT(names_of(*dump), ElementsAre("op2:out0*", "op3:out0*", "op4:out0"));
  for (size_t row = 0; row < dump->rows().size(); ++row) {
    if (dump->rows()[row].op != 3) continue;
    EXPECT_EQ(toy::floats_of(*dump, row), (std::vector<float>{3, 1})) << "with its tensor, whatever the payload";
  }
}

TEST(Ring, NothingIsWrittenWhileNothingFires) {
  Engine engine(ring_config({{"where", "max > 50"}}, 2));
  for (int op = 0; op < 6; ++op) engine.run(op, {1});
  EXPECT_THAT(names_of(*engine.close()), IsEmpty());
}

TEST(Ring, OverflowWritesEachRecordOnce) {
  Engine engine(ring_config({{"trigger", "overflow"}, {"payload", "full"}, {"slots", {"in", "out"}}}, 3));
  toy::MemoryEngine memory(engine.opened.session);
  const toy::Tensor first = memory.runs(engine.ops[0], {}, {1, 2});
  const toy::Tensor second = memory.runs(engine.ops[1], {first}, {3, 4});
  const toy::Tensor third = memory.runs(engine.ops[2], {second}, {kInf, 4});
  memory.runs(engine.ops[3], {third}, {kInf, kInf});
  EXPECT_THAT(names_of(*engine.close()), ElementsAre("op0:out0*", "op1:in0*", "op1:out0*", "op2:in0", "op2:out0"));
}

TEST(Ring, FailureWritesTheOpsBeforeIt) {
  Engine engine(ring_config({{"trigger", "exception"}}, 2));
  toy::MemoryEngine memory(engine.opened.session);
  const toy::Tensor made = memory.runs(engine.ops[0], {}, {1, 2});
  const toy::Tensor next = memory.runs(engine.ops[1], {made}, {3, 4});
  memory.reads(engine.ops[2], {next});
  memory.fails(engine.ops[2], {next});
  const auto dump = engine.close();
  EXPECT_THAT(names_of(*dump), ElementsAre("op0:out0*", "op1:out0*", "op2:in0"));
  EXPECT_EQ(json::parse(dump->manifest())["ring"]["fired"], 1);
}

TEST(Ring, RequestWritesTheOpsBeforeTheRequestedOne) {
  Engine engine(ring_config({{"trigger", "on-request"}}, 1));
  tensortap_request_op(engine.opened.session, engine.ops[2], 1);
  EXPECT_EQ(tensortap_wants(engine.opened.session, engine.ops[0], 0), 1) << "the ring wants every op";
  for (int op = 0; op < 4; ++op) engine.run(op, {1});
  EXPECT_THAT(names_of(*engine.close()), ElementsAre("op1:out0*", "op2:out0"));
}

TEST(Ring, AChangedWatchedTensorWritesWhatTheWatchersMade) {
  Engine engine(ring_config({{"trigger", "watch"}, {"include", {"op0"}}}, 1));
  std::vector<float> watched = {1, 2};
  engine.run(1, {7});
  const toy::FloatTensor tensor(watched);
  const tensortap_op_event event = toy::event_of(engine.ops[0], 0, &tensor.c, 1);
  tensortap_on_op(engine.opened.session, &event);
  engine.run(2, {8});
  watched[1] = 9;
  engine.run(3, {10});
  EXPECT_THAT(names_of(*engine.close()), ElementsAre("op0:out0", "op2_To_op0:out0", "op3:out0*", "op3_To_op0:out0"));
}

TEST(Ring, MemoryThatDoesNotSufficeIsCounted) {
  json config = ring_config({{"where", "max > 50"}}, 4);
  config["limits"]["pool_bytes"] = 1 << 16;
  Engine engine(config);
  const std::vector<float> half((1 << 15) / sizeof(float), 1);
  for (int op = 0; op < 3; ++op) engine.run(op, half);
  engine.run(3, std::vector<float>(1 << 16, 2));  // more than there is
  engine.run(4, {100});
  const json report = toy::report_of(engine.opened.session);
  EXPECT_GE(report["ring"]["let_go_for_memory"], 1);
  EXPECT_EQ(toy::lost_for(report, "memory budget full: statistics only"), 1U);
  const auto dump = engine.close();
  const std::vector<std::string> names = names_of(*dump);
  EXPECT_THAT(names, testing::IsSupersetOf({"op3:out0*", "op4:out0"})) << "without its tensor, with its statistics";
}

TEST(Ring, NeedsSomethingThatFires) {
  const toy::TempFolder folder;
  EXPECT_THAT(open_session(ring_config({}, 2), folder / "dump").message, testing::HasSubstr("\"ring_ops\" keeps the last ops until"));
}

}  // namespace
