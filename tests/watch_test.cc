// Watching: after some ops ran, the outputs of others are looked at again, and what changed names the writer.  A14 B5

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <algorithm>
#include <set>

#include "find/watch_diff.h"
#include "toy_memory.h"
#include "watched_arena.h"

namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using toy::add_op;
using toy::open_session;
using toy::run_op;
using watched_arena::Arena;

json watch_config(const char* payload, const json& watchers = json::array({"A", "B"}), const json& include = json::array({"C", "D"})) {
  return {{"trigger", "watch"}, {"watchers", watchers}, {"include", include}, {"payload", payload}};
}

std::unique_ptr<tensortap::DumpIndex> run_arena(const json& config, const std::string& out, bool stomps, int64_t steps = 1) {
  const toy::Opened opened = open_session(config, out);
  EXPECT_EQ(opened.status, TENSORTAP_OK) << opened.message;
  Arena arena(opened.session, stomps);
  EXPECT_EQ(tensortap_bind(opened.session, nullptr, 0), TENSORTAP_OK);
  for (int64_t step = 0; step < steps; ++step) arena.step(step);
  EXPECT_EQ(tensortap_session_close(opened.session), TENSORTAP_OK);
  return toy::read_dump(out);
}

std::set<std::string> names_of(const tensortap::DumpIndex& dump) {
  std::set<std::string> names;
  for (const auto& row : dump.rows()) names.insert(tensortap::op_of(dump, row).name);
  return names;
}

TEST(Watch, LooksAtTheWatchedOutputsAgainAfterEachWatcher) {
  const toy::TempFolder folder;
  const auto dump = run_arena(watch_config("full"), folder / "dump", false, 2);
  EXPECT_EQ(names_of(*dump), (std::set<std::string>{"C", "D", "A_To_C", "A_To_D", "B_To_C", "B_To_D"}));
  ASSERT_EQ(dump->rows().size(), 12U);
  for (size_t i = 0; i < dump->rows().size(); ++i) {
    const auto& row = dump->rows()[i];
    const auto& op = tensortap::op_of(*dump, row);
    const size_t made_by = op.name.ends_with("C") ? 0 : 1;
    EXPECT_EQ(op.type, made_by == 0 ? "Conv" : "Toy") << "a look has the type of what is looked at";
    const std::vector<float> values = toy::floats_of(*dump, i);
    for (size_t element = 0; element < values.size(); ++element) {
      ASSERT_EQ(values[element], Arena::value(made_by, element, row.step)) << op.name;
    }
  }
  const json manifest = json::parse(dump->manifest());
  json watch = manifest["watch"];
  const json read = json::array({true});
  EXPECT_EQ(watch["still_read"], (json::array({{"A_To_C", read}, {"A_To_D", read}, {"B_To_C", read}, {"B_To_D", read}}))) << "by E";
  watch.erase("still_read");
  EXPECT_EQ(watch, (json{{"looks", 8}, {"changed", 0}, {"given_away", 0}, {"unreadable", 0}}));
  EXPECT_EQ(manifest["ops"]["registered"], 5) << "looks are no ops of the program";
  EXPECT_EQ(manifest["ops"]["captured"], 2);
  const auto report = tensortap::watch_diff(*dump);
  EXPECT_EQ(report.looks, 8U);
  EXPECT_EQ(report.tensors, 4U);
  EXPECT_THAT(report.overwritten, IsEmpty());
}

TEST(Watch, NamesTheWriterTheBytesAndTheFirstElement) {
  const toy::TempFolder folder;
  const auto dump = run_arena(watch_config("tensor"), folder / "dump", true, 2);
  const auto report = tensortap::watch_diff(*dump);
  ASSERT_EQ(report.overwritten.size(), 2U) << "once in each step";
  const auto& one = report.overwritten[1];
  EXPECT_EQ(tensortap::record_name(dump->rows()[one.before], "C"), "C:out0@1");
  EXPECT_EQ(one.writer, "B");
  EXPECT_EQ(one.last_equal, "A");
  EXPECT_THAT(one.others, IsEmpty()) << "nothing runs between A and B";
  EXPECT_EQ(one.still_read, std::optional(true)) << "E reads C afterwards";
  ASSERT_TRUE(one.change.has_value());
  EXPECT_EQ(one.change->first_byte, 0U);
  EXPECT_EQ(one.change->end_byte, 12U);
  EXPECT_EQ(one.change->elements, 3U);
  EXPECT_THAT(one.change->index, ElementsAre(0, 0));
  EXPECT_EQ(one.change->value_before, "0.5");
  EXPECT_EQ(one.change->value_after, "-1.0");
  EXPECT_EQ(json::parse(dump->manifest())["watch"]["changed"], 2);
}

TEST(Watch, StatisticsFindTheWriterByDigest) {
  const toy::TempFolder folder;
  const auto dump = run_arena(watch_config("statistics"), folder / "dump", true);
  EXPECT_EQ(json::parse(dump->manifest())["checksum"], "xxh3");
  const auto report = tensortap::watch_diff(*dump);
  ASSERT_EQ(report.overwritten.size(), 1U);
  EXPECT_EQ(report.overwritten[0].writer, "B");
  EXPECT_FALSE(report.overwritten[0].change.has_value());
  EXPECT_EQ(report.estimated, 0U);
}

TEST(Watch, TellsWhichOthersMayHaveWritten) {
  const toy::TempFolder folder;
  const auto dump = run_arena(watch_config("tensor", json::array({"E"}), json::array({"C"})), folder / "dump", true);
  const auto report = tensortap::watch_diff(*dump);
  ASSERT_EQ(report.overwritten.size(), 1U);
  EXPECT_EQ(report.overwritten[0].writer, "E");
  EXPECT_EQ(report.overwritten[0].last_equal, "C");
  EXPECT_THAT(report.overwritten[0].others, ElementsAre("D", "A", "B"));
  EXPECT_EQ(report.overwritten[0].still_read, std::optional(false)) << "E was the last that reads C";
  const auto found = tensortap::watch_diff_json(*dump, report);
  EXPECT_TRUE(found["overwritten"].empty());
  EXPECT_EQ(found["reused"].size(), 1U);
}

// Two ops in one piece of memory, as a runtime plans it that knows no reader of the first.
TEST(Watch, WithoutKnownReadersItSaysThatItDoesNotKnow) {
  const toy::TempFolder folder;
  const toy::Opened opened = open_session(watch_config("full", json::array({"A"}), json::array({"C"})), folder / "dump");
  ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
  const tensortap_op_id watched = add_op(opened.session, "C");
  const tensortap_op_id watcher = add_op(opened.session, "A");
  std::vector<float> memory = toy::ramp(16, 1);
  const std::array<int64_t, 1> dims = {16};
  tensortap_tensor tensor = toy::FloatTensor({0}).c;
  tensor.data = memory.data();
  tensor.dims = dims.data();
  for (const tensortap_op_id op : {watched, watcher}) {
    const tensortap_op_event event = toy::event_of(op, 0, &tensor, 1);
    tensortap_on_op(opened.session, &event);
    memory[3] = 100;
  }
  ASSERT_EQ(tensortap_session_close(opened.session), TENSORTAP_OK);
  const auto dump = toy::read_dump(folder / "dump");
  const auto report = tensortap::watch_diff(*dump);
  ASSERT_EQ(report.overwritten.size(), 1U);
  EXPECT_EQ(report.overwritten[0].still_read, std::nullopt);
  const auto found = tensortap::watch_diff_json(*dump, report);
  EXPECT_TRUE(found["overwritten"].empty());
  EXPECT_TRUE(found["reused"].empty());
  EXPECT_EQ(found["reused_or_overwritten"].size(), 1U);
}

TEST(Watch, WithoutWatchersLooksAfterEveryOpButTheOpItself) {
  const toy::TempFolder folder;
  const auto dump = run_arena(watch_config("statistics", json::array(), json::array({"C"})), folder / "dump", true);
  EXPECT_EQ(names_of(*dump), (std::set<std::string>{"C", "D_To_C", "A_To_C", "B_To_C", "E_To_C"}));
  const auto report = tensortap::watch_diff(*dump);
  ASSERT_EQ(report.overwritten.size(), 1U);
  EXPECT_EQ(report.overwritten[0].writer, "B");
}

TEST(Watch, MemoryThatWentToAnotherBlockIsForgotten) {
  const toy::TempFolder folder;
  const toy::Opened opened = open_session(watch_config("full", json::array({"A"}), json::array({"C"})), folder / "dump");
  ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
  const tensortap_op_id watched = add_op(opened.session, "C");
  const tensortap_op_id watcher = add_op(opened.session, "A");
  toy::MemoryEngine engine(opened.session);
  const toy::Tensor made = engine.make(toy::ramp(16, 1));
  engine.makes(watched, {made});
  engine.makes(watcher, {engine.make({1})});
  // The allocator gives the same address to a new block.
  toy::Tensor other = made;
  other.block = std::make_shared<toy::Block>(toy::Block{99, 1, {}});
  other.block->values.swap(made.block->values);
  made.block->values = {0};
  engine.makes(watcher, {other});
  engine.makes(watcher, {other});
  ASSERT_EQ(tensortap_session_close(opened.session), TENSORTAP_OK);
  const auto dump = toy::read_dump(folder / "dump");
  const json manifest = json::parse(dump->manifest());
  EXPECT_EQ(manifest["watch"]["looks"], 1);
  EXPECT_EQ(manifest["watch"]["given_away"], 1);
}

TEST(Watch, UnreadableMemoryIsALossAndNoCrash) {
  const toy::TempFolder folder;
  const toy::Opened opened = open_session(watch_config("full", json::array({"A"}), json::array({"C"})), folder / "dump");
  ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
  const tensortap_op_id watched = add_op(opened.session, "C");
  const tensortap_op_id watcher = add_op(opened.session, "A");
  constexpr size_t kBytes = 1 << 16;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::array<int64_t, 1> dims = {kBytes / sizeof(float)};
  tensortap_tensor tensor = toy::FloatTensor({0}).c;
  tensor.data = memory;
  tensor.dims = dims.data();
  const tensortap_op_event event = toy::event_of(watched, 0, &tensor, 1);
  tensortap_on_op(opened.session, &event);
  // Not munmap(): another thread's mapping could take the place at once, and the memory would be readable again.
  ASSERT_EQ(mprotect(memory, kBytes, PROT_NONE), 0);
  run_op(opened.session, watcher, 0, {1});
  run_op(opened.session, watcher, 0, {1});
  const json report = toy::report_of(opened.session);
  munmap(memory, kBytes);
  EXPECT_EQ(report["watch"]["unreadable"], 1) << "once: it is not looked at again";
  EXPECT_EQ(toy::lost_for(report, "watched memory cannot be read any more"), 1U);
  EXPECT_EQ(tensortap_session_close(opened.session), TENSORTAP_OK);
}

TEST(Watch, ViewsWithStridesAreLookedAtWhereTheirElementsLie) {
  const toy::TempFolder folder;
  const toy::Opened opened = open_session(watch_config("tensor", json::array({"A"}), json::array({"C"})), folder / "dump");
  ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
  const tensortap_op_id watched = add_op(opened.session, "C");
  const tensortap_op_id watcher = add_op(opened.session, "A");
  std::vector<float> memory = toy::ramp(12, 0);
  const std::array<int64_t, 2> dims = {3, 2};
  const std::array<int64_t, 2> strides = {-4, 2};  // rows from the last to the first, every second element
  tensortap_tensor tensor = toy::FloatTensor({0}).c;
  tensor.data = memory.data() + 8;
  tensor.dims = dims.data();
  tensor.strides = strides.data();
  tensor.rank = 2;
  const tensortap_op_event event = toy::event_of(watched, 0, &tensor, 1);
  tensortap_on_op(opened.session, &event);
  memory[1] = 100;  // between the elements
  run_op(opened.session, watcher, 0, {1});
  memory[6] = 200;
  run_op(opened.session, watcher, 0, {1});
  ASSERT_EQ(tensortap_session_close(opened.session), TENSORTAP_OK);
  const auto dump = toy::read_dump(folder / "dump");
  const auto report = tensortap::watch_diff(*dump);
  ASSERT_EQ(report.overwritten.size(), 1U);
  const auto& one = report.overwritten[0];
  EXPECT_EQ(toy::floats_of(*dump, one.before), (std::vector<float>{8, 10, 4, 6, 0, 2}));
  EXPECT_EQ(toy::floats_of(*dump, one.after), (std::vector<float>{8, 10, 4, 200, 0, 2}));
  EXPECT_THAT(one.change->index, ElementsAre(1, 1));
}

TEST(Watch, ContradictionsAreRefused) {
  const toy::TempFolder folder;
  const auto refusal = [&](const json& config) { return open_session(config, folder / "dump").message; };
  EXPECT_THAT(refusal({{"watchers", {"A"}}}), testing::HasSubstr("\"watchers\" contradicts \"trigger\": \"always\""));
  EXPECT_THAT(refusal({{"trigger", "watch"}, {"slots", {"in"}}}), testing::HasSubstr("looks at outputs"));
}

}  // namespace
