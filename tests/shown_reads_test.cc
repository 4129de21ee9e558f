// An engine that shows what an op read when it has run: the overflow trigger then holds nothing.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "toy_engine.h"

namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr float kShownInf = std::numeric_limits<float>::infinity();

// source (0) -> scale (1, reads source) -> power (2, reads scale and source)
class ShowingEngine {
 public:
  explicit ShowingEngine(json config = json::object()) {
    config.update({{"trigger", "overflow"}, {"payload", "full"}, {"slots", {"in", "out"}}});
    opened_ = toy::open_session(config, folder_ / "dump");
    EXPECT_EQ(opened_.status, TENSORTAP_OK) << opened_.message;
    add("source", {});
    add("scale", {0});
    add("power", {1, 0});
    EXPECT_EQ(tensortap_bind(opened_.session, nullptr, 0), TENSORTAP_OK);
  }

  ~ShowingEngine() {
    if (opened_.session != nullptr) tensortap_session_close(opened_.session);
  }
  ShowingEngine(const ShowingEngine&) = delete;
  ShowingEngine& operator=(const ShowingEngine&) = delete;

  // One execution; an engine of an older header does not know of what it read.
  void run(tensortap_op_id op, const std::vector<std::vector<float>>& reads, const std::vector<float>& makes, int64_t step = 0,
           bool old_header = false) {
    toy::FloatTensor made(makes);
    made.c.flags = TENSORTAP_TENSOR_SHOWN_AGAIN;
    tensortap_op_event event = toy::event_of(op, step, &made.c, 1, static_cast<uint64_t>(step));
    event.call = 1;
    reads_ = &reads;
    event.show_reads = [](void* engine, const tensortap_tensor** tensors) { return static_cast<ShowingEngine*>(engine)->show(tensors); };
    event.reads = this;
    if (old_header) event.size = offsetof(tensortap_op_event, show_reads);
    tensortap_on_op(opened_.session, &event);
  }

  [[nodiscard]] tensortap_session* session() const { return opened_.session; }
  [[nodiscard]] int shown() const { return shown_; }

  std::vector<std::string> names() {
    EXPECT_EQ(tensortap_session_close(std::exchange(opened_.session, nullptr)), TENSORTAP_OK);
    const auto dump = toy::read_dump(folder_ / "dump");
    std::vector<std::string> names;
    for (const auto& row : dump->rows()) {
      const bool for_readers = (row.flags & tensortap::kRecordForReaders) != 0;
      names.push_back(tensortap::record_name(row, tensortap::op_of(*dump, row).name) + (for_readers ? "*" : ""));
    }
    return names;
  }
  [[nodiscard]] std::vector<float> values(size_t row) const { return toy::floats_of(*toy::read_dump(folder_ / "dump"), row); }

 private:
  void add(const char* name, const std::vector<tensortap_op_id>& producers) {
    const std::vector<uint32_t> slots(producers.size(), 0);
    const std::vector<const char*> inputs(producers.size(), "value");
    tensortap_op op{};
    op.size = sizeof(op);
    op.name = op.type = name;
    op.inputs = inputs.data();
    op.producers = producers.data();
    op.producer_slots = slots.data();
    op.input_count = producers.size();
    op.outputs = &name;
    op.output_count = 1;
    op.parent = TENSORTAP_NO_OP;
    tensortap_register_op(opened_.session, &op);
  }

  uint64_t show(const tensortap_tensor** tensors) {
    ++shown_;
    views_.clear();
    tensors_.clear();
    for (const std::vector<float>& values : *reads_) {
      views_.push_back(std::make_unique<toy::FloatTensor>(values, TENSORTAP_SLOT_INPUT, static_cast<uint32_t>(views_.size())));
      tensors_.push_back(views_.back()->c);
    }
    *tensors = tensors_.data();
    return tensors_.size();
  }

  const toy::TempFolder folder_;
  toy::Opened opened_;
  const std::vector<std::vector<float>>* reads_ = nullptr;
  std::vector<std::unique_ptr<toy::FloatTensor>> views_;
  std::vector<tensortap_tensor> tensors_;
  int shown_ = 0;
};

TEST(ShownReads, AreAskedForByTheOverflowTriggerAlone) {
  const toy::TempFolder folder;
  const json overflow = {{"trigger", "overflow"}};
  const std::vector<std::pair<json, int>> configs = {{overflow, 1},
                                                     {json::object(), 0},
                                                     {{{"trigger", "exception"}}, 0},
                                                     {{{"trigger", "overflow"}, {"limits", {{"ring_ops", 2}}}}, 0},
                                                     {{{"trigger", "overflow"}, {"where", "max > 1"}}, 0}};
  for (size_t i = 0; i < configs.size(); ++i) {
    const toy::Opened opened = toy::open_session(configs[i].first, folder / std::to_string(i));
    ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
    EXPECT_EQ(tensortap_wants_reads(opened.session), configs[i].second) << configs[i].first;
    tensortap_session_enable(opened.session, 0);
    EXPECT_EQ(tensortap_wants_reads(opened.session), 0) << "it is off";
    tensortap_session_close(opened.session);
  }
  EXPECT_EQ(tensortap_wants_reads(nullptr), 0);
}

TEST(ShownReads, OfOpsThatPassInfOnAreWrittenWhereAllAreAskedFor) {  // M10
  ShowingEngine engine(json::object({{"overflow_ops", "all"}}));
  EXPECT_EQ(static_cast<uint32_t>(tensortap_wants_reads(engine.session())), TENSORTAP_WANTS_READS | TENSORTAP_WANTS_PASSED_ON);
  engine.run(0, {}, {1, 2});
  engine.run(1, {{1, 2}}, {kShownInf, 6});
  engine.run(2, {{kShownInf, 6}, {1, 2}}, {kShownInf, 36});
  EXPECT_THAT(engine.names(), ElementsAre("source:out0*", "scale:out0", "power:out0"));
  EXPECT_THAT(engine.values(2), ElementsAre(kShownInf, 36));
}

TEST(ShownReads, AreLookedAtWhenAnOpMadeInfAndWrittenAsTheirMakersRecords) {
  ShowingEngine engine;
  engine.run(0, {}, {1, 2});
  engine.run(1, {{1, 2}}, {3, 6});
  EXPECT_EQ(engine.shown(), 0) << "all was finite";
  engine.run(2, {{3, 6}, {1, 2}}, {kShownInf, 6});
  EXPECT_EQ(engine.shown(), 1);
  EXPECT_THAT(engine.names(), ElementsAre("scale:out0*", "source:out0*", "power:out0"));
  EXPECT_THAT(engine.values(0), ElementsAre(3, 6));
  EXPECT_THAT(engine.values(1), ElementsAre(1, 2));
}

TEST(ShownReads, ThatAreNotFiniteClearTheOp) {
  ShowingEngine engine;
  engine.run(1, {{NAN, 2}}, {NAN, 6});
  engine.run(2, {{1, 6}, {1, -kShownInf}}, {kShownInf, 6});
  EXPECT_EQ(toy::report_of(engine.session())["first_nonfinite"]["op"], "scale") << "it was seen, if not written";
  EXPECT_THAT(engine.names(), IsEmpty());
}

TEST(ShownReads, AreWrittenOnceInAStep) {
  ShowingEngine engine;
  for (int64_t step = 0; step < 2; ++step) {
    engine.run(1, {{1, 2}}, {kShownInf, 6}, step);
    engine.run(2, {{3, 6}, {1, 2}}, {NAN, 6}, step);
    tensortap_step_end(engine.session(), step, static_cast<uint64_t>(step));
  }
  EXPECT_THAT(engine.names(), ElementsAre("source:out0*", "scale:out0", "power:out0", "source:out0@1*", "scale:out0@1", "power:out0@1"));
}

TEST(ShownReads, EndWithTheLimit) {
  ShowingEngine engine(json{{"limits", {{"max_triggers", 1}}}});
  for (int64_t step = 0; step < 3; ++step) engine.run(1, {{1, 2}}, {kShownInf, 6}, step);
  EXPECT_THAT(engine.names(), ElementsAre("source:out0*", "scale:out0"));
}

TEST(ShownReads, CountAsCaptured) {
  ShowingEngine engine;
  for (tensortap_op_id op = 0; op < 3; ++op) engine.run(op, {{1}, {1}}, {1});
  EXPECT_EQ(toy::report_of(engine.session())["ops"]["captured"], 3);
}

TEST(ShownReads, OfAnEngineThatCanNotShowThemAreMissing) {
  ShowingEngine engine;
  engine.run(1, {{1, 2}}, {kShownInf, 6}, 0, true);
  EXPECT_EQ(engine.shown(), 0);
  EXPECT_THAT(engine.names(), ElementsAre("scale:out0"));
}

// Ops that become known as they run, have no producers, and may write over what they read.
class WritingEngine {
 public:
  explicit WritingEngine(json config = json::object()) {
    config.update({{"trigger", "overflow"}, {"slots", {"in", "out"}}});
    if (!config.contains("payload")) config["payload"] = "full";
    opened_ = toy::open_session(config, folder_ / "dump");
    EXPECT_EQ(opened_.status, TENSORTAP_OK) << opened_.message;
    EXPECT_EQ(tensortap_wants_reads(opened_.session), 1);
    op_ = toy::add_op(opened_.session, "op");
  }
  ~WritingEngine() {
    if (opened_.session != nullptr) tensortap_session_close(opened_.session);
  }
  WritingEngine(const WritingEngine&) = delete;
  WritingEngine& operator=(const WritingEngine&) = delete;

  // Reports the first of a list of two before the op, which leaves `first_after` there, and shows both when it has run.
  void run(std::vector<float> first, std::vector<float> second, const std::vector<float>& first_after, uint32_t flags_after = 0,
           std::vector<float> makes = {}) {
    ++calls_;
    toy::FloatTensor told(first, TENSORTAP_SLOT_INPUT, 0);
    told.c.element = 0;
    tensortap_op_event before = toy::event_of(op_, 0, &told.c, 1);
    before.flags = TENSORTAP_EVENT_READ_FIRST;
    before.call = calls_;
    tensortap_on_op(opened_.session, &before);
    std::ranges::copy(first_after, first.begin());
    toy::FloatTensor other(second, TENSORTAP_SLOT_INPUT, 0);
    other.c.element = 1;
    other.c.flags = flags_after;
    shown_ = {told.c, other.c};
    if (makes.empty()) makes = first;
    toy::FloatTensor made(makes);
    made.c.flags = TENSORTAP_TENSOR_SHOWN_AGAIN;
    tensortap_op_event after = toy::event_of(op_, 0, &made.c, 1);
    after.call = calls_;
    after.show_reads = [](void* engine, const tensortap_tensor** tensors) {
      *tensors = static_cast<WritingEngine*>(engine)->shown_.data();
      return static_cast<WritingEngine*>(engine)->shown_.size();
    };
    after.reads = this;
    tensortap_on_op(opened_.session, &after);
  }

  [[nodiscard]] json report() const { return toy::report_of(opened_.session); }
  std::unique_ptr<tensortap::DumpIndex> dump() {
    EXPECT_EQ(tensortap_session_close(std::exchange(opened_.session, nullptr)), TENSORTAP_OK);
    return toy::read_dump(folder_ / "dump");
  }

 private:
  const toy::TempFolder folder_;
  toy::Opened opened_;
  tensortap_op_id op_ = TENSORTAP_NO_OP;
  uint32_t calls_ = 0;
  std::vector<tensortap_tensor> shown_;
};

TEST(ShownReads, OfWhatTheOpWroteOverAreThoseThatWereToldBefore) {
  WritingEngine engine;
  engine.run({1, 2}, {3, 4}, {5, 6});
  engine.run({1, 2}, {3, 4}, {kShownInf, 6});
  const auto dump = engine.dump();
  ASSERT_EQ(dump->rows().size(), 3U) << "what stayed finite left nothing";
  EXPECT_THAT(toy::floats_of(*dump, 0), ElementsAre(1, 2));
  EXPECT_THAT(toy::floats_of(*dump, 1), ElementsAre(3, 4));
  EXPECT_THAT(toy::floats_of(*dump, 2), ElementsAre(kShownInf, 6));
  EXPECT_EQ(dump->rows()[0].call, 1U);
  EXPECT_EQ(dump->rows()[0].stats.max, 2) << "measured as it was";
  EXPECT_EQ(dump->rows()[1].position, 1U) << "the second of a list";
}

TEST(ShownReads, ThatWereNotFiniteBeforeTheyWereWrittenOverClearTheOp) {
  WritingEngine engine;
  engine.run({1, NAN}, {3, 4}, {kShownInf, 6});
  engine.run({1, NAN}, {3, 4}, {5, 6}, 0, {kShownInf});
  EXPECT_EQ(engine.report()["trigger"]["fired"], 0);
  EXPECT_THAT(engine.dump()->rows(), IsEmpty());
}

TEST(ShownReads, ThatAreGoneAreALossOfTheOpsThatAreKept) {
  WritingEngine engine;
  engine.run({1, 2}, {3, 4}, {5, 6}, TENSORTAP_TENSOR_GONE);
  EXPECT_EQ(engine.report()["lost"], 0);
  engine.run({1, 2}, {3, 4}, {kShownInf, 6}, TENSORTAP_TENSOR_GONE);
  EXPECT_EQ(toy::lost_for(engine.report(), "what the op read is gone since it ran"), 1U);
  EXPECT_EQ(engine.dump()->rows().size(), 2U);
}

TEST(ShownReads, ThatFoundNoRoomKeepTheirStatistics) {
  WritingEngine engine(json{{"limits", {{"pool_bytes", 65536}}}});
  std::vector<float> after(20000, 1);
  after[7] = kShownInf;
  engine.run(std::vector<float>(20000, 2), std::vector<float>(20000, 3), after);
  EXPECT_EQ(toy::lost_for(engine.report(), "memory budget full: statistics only"), 1U);
  const auto dump = engine.dump();
  ASSERT_EQ(dump->rows().size(), 3U);
  EXPECT_EQ(dump->rows()[0].stats.max, 2);
  EXPECT_EQ(dump->rows()[0].flags & tensortap::kRecordHasData, 0);
  EXPECT_NE(dump->rows()[1].flags & tensortap::kRecordHasData, 0) << "it is written from where it lies";
}

TEST(ShownReads, AreNotCopiedOnceTheLimitIsReached) {
  WritingEngine engine(json{{"limits", {{"max_triggers", 1}}}});
  engine.run({1, 2}, {3, 4}, {kShownInf, 6});
  const json before = engine.report();
  engine.run(std::vector<float>(20000, 2), {3, 4}, std::vector<float>(20000, kShownInf));
  EXPECT_EQ(engine.report()["pool_peak_bytes"], before["pool_peak_bytes"]);
  EXPECT_EQ(engine.report()["trigger"]["over_limit"], 1);
}

TEST(ShownReads, OfStatisticsAloneAreMeasuredAsTheyWere) {
  WritingEngine engine(json{{"payload", "statistics"}});
  engine.run({1, 2}, {3, 4}, {NAN, 6});
  EXPECT_EQ(engine.report()["lost"], 0);
  const auto dump = engine.dump();
  ASSERT_EQ(dump->rows().size(), 3U);
  EXPECT_DOUBLE_EQ(dump->rows()[0].stats.l2, std::sqrt(5.0));
  EXPECT_EQ(dump->rows()[0].flags & (tensortap::kRecordHasData | tensortap::kRecordDataLost), 0);
}

}  // namespace
