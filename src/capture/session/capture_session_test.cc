// Sessions over a layout that a test holds up, fills and breaks.

#include "session/capture_session.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <limits>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/json.h"

namespace tensortap {
namespace {

// Records the layout's calls and controls its behaviour. One for each test: layouts are made by plain functions.
struct Script {
  std::mutex mutex;
  std::condition_variable changed;
  bool hold_data = false;  // add_record() with data waits
  bool throw_bad_alloc = false;
  Status answer;
  bool any_thread = true;
  int waiting = 0;
  int finished = 0;
  std::vector<RecordRow> rows;
  std::vector<std::vector<float>> data;
  std::vector<std::thread::id> threads;
  std::string manifest;
  Status flushed;                // what flush() answers
  uint64_t lost_with_flush = 0;  // records that flush() loses
  uint64_t lost = 0;             // take_lost()
  bool follows_steps = false;
  bool follows_executions = false;
  bool follows_first_rounds = false;
  std::vector<RecordRow> described;
  std::vector<RecordRow> executions;
  std::vector<size_t> records_before;  // each of them
  std::vector<std::string> ids;
  std::vector<bool> decided;
  struct Ended {
    int64_t step;
    uint64_t run;
    size_t records;  // that came before
    friend bool operator==(const Ended&, const Ended&) = default;
  };
  std::vector<Ended> ended;
};
Script* script = nullptr;

class ScriptedWriter : public LayoutWriter,
                       public FollowsDecisions,
                       public FollowsSteps,
                       public FollowsExecutions,
                       public FollowsFirstRounds,
                       public ReportsLosses {
 public:
  LayoutParts parts() override {
    LayoutParts own;
    own.decisions = this;
    if (script->follows_steps) own.steps = this;
    if (script->follows_executions) own.executions = this;
    if (script->follows_first_rounds) own.first_rounds = this;
    own.losses = this;
    return own;
  }
  Status add_op(OpId /*id*/, const OpInfo& op) override {
    script->ids.push_back(op.id);
    return {};
  }
  Status op_ran(OpId /*op*/, const RecordRow& event) override {
    const std::lock_guard lock(script->mutex);
    script->executions.push_back(event);
    script->records_before.push_back(script->rows.size());
    return {};
  }
  void described(const RecordRow& row) override {
    const std::lock_guard lock(script->mutex);
    script->described.push_back(row);
  }
  Status round_passed(int64_t step, uint64_t run) override {
    const std::lock_guard lock(script->mutex);
    script->ended.push_back({step, run, script->described.size()});
    return {};
  }
  [[nodiscard]] bool takes_statistics_on_any_thread() const override { return script->any_thread; }
  Status add_record(RecordRow& row, const TensorView* data, const ExponentHistogram* /*histogram*/) override {
    std::unique_lock lock(script->mutex);
    if (script->throw_bad_alloc) throw std::bad_alloc();
    if (data != nullptr) {
      ++script->waiting;
      script->changed.notify_all();
      script->changed.wait(lock, [] { return !script->hold_data; });
      if (!script->answer.ok()) return script->answer;
      const auto* values = static_cast<const float*>(data->data);
      script->data.emplace_back(values, values + row.numel);
      row.flags |= kRecordHasData;
      row.data_bytes = row.bytes;
    }
    script->rows.push_back(row);
    script->threads.push_back(std::this_thread::get_id());
    return {};
  }
  void op_decided(OpId /*id*/, const OpDecision& decision) override { script->decided.push_back(decision.wanted); }
  Status end_step(int64_t step, uint64_t run) override {
    const std::lock_guard lock(script->mutex);
    script->ended.push_back({step, run, script->rows.size()});
    return {};
  }
  Status flush() override {
    script->lost += std::exchange(script->lost_with_flush, 0);
    return script->flushed;
  }
  LostRecords take_lost() override { return {std::exchange(script->lost, 0), 0}; }
  Status finish(std::string_view manifest) override {
    ++script->finished;
    script->manifest = manifest;
    return {};
  }
  [[nodiscard]] uint64_t bytes_written() const override { return 0; }
};

Result<std::unique_ptr<LayoutWriter>> create_scripted(const DumpInfo& /*info*/, const CaptureSpec& /*spec*/) {
  return std::unique_ptr<LayoutWriter>(new ScriptedWriter());
}

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    script = &script_;
    layout_.name = "scripted";
    layout_.create = create_scripted;
    std::string pattern = (std::filesystem::temp_directory_path() / "tensortap-session-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    spec_.out = folder_ + "/dump";
    spec_.limits.keep_free = 0;
    spec_.payload = Payload::kFull;
  }
  ~SessionTest() override {
    release();
    if (session_ != nullptr) (void)session_->close();
    session_.reset();
    std::filesystem::remove_all(folder_);
  }

  void open() {
    SessionOptions options;
    options.spec = spec_;
    options.layout = &layout_;
    auto opened = CaptureSession::open(std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    session_ = *std::move(opened);
    OpInfo info;
    info.name = "op";
    info.type = "T";
    op_ = session_->register_op(info);
  }
  void run(int64_t step, size_t count) { run_with(step, count, static_cast<float>(step)); }
  void run_with(int64_t step, size_t count, float value) {
    const std::vector<float> values(count, value);
    const auto dim = static_cast<int64_t>(count);
    run_tensor(step, values, std::span(&dim, 1), 0);
  }
  void run_tensor(int64_t step, const std::vector<float>& values, std::span<const int64_t> dims, uint32_t flags) {
    tensortap_tensor tensor{};
    tensor.size = sizeof(tensor);
    tensor.dtype = TENSORTAP_FLOAT32;
    tensor.data = values.data();
    tensor.dims = dims.data();
    tensor.rank = static_cast<uint32_t>(dims.size());
    tensor.flags = flags;
    tensor.element = -1;
    tensortap_op_event event{};
    event.size = sizeof(event);
    event.op = op_;
    event.step = step;
    event.tensors = &tensor;
    event.tensor_count = 1;
    guarded<bool>(session_.get(), false, [&] {
      session_->on_op(event);
      return true;
    });
  }
  void hold() {
    const std::lock_guard lock(script_.mutex);
    script_.hold_data = true;
  }
  void release() {
    {
      const std::lock_guard lock(script_.mutex);
      script_.hold_data = false;
    }
    script_.changed.notify_all();
  }
  void wait_until_writing() {
    std::unique_lock lock(script_.mutex);
    script_.changed.wait(lock, [this] { return script_.waiting > 0; });
  }
  Json report() { return *parse_json(session_->report(), "report"); }
  uint64_t lost(std::string_view reason) {
    const Json all = report();
    for (const Json& loss : all["losses"]) {
      if (loss["reason"] == std::string(reason)) return loss["count"];
    }
    return 0;
  }

  Script script_;
  Layout layout_{};
  CaptureSpec spec_;
  std::string folder_;
  std::unique_ptr<CaptureSession> session_;
  OpId op_ = kNoOp;
};

TEST_F(SessionTest, KeepsStatisticsOnlyWhenTheBudgetIsFull) {
  spec_.full_policy = FullPolicy::kStatsOnly;
  spec_.limits.pool_bytes = 100 << 10;
  open();
  hold();
  for (int64_t step = 0; step < 10; ++step) run(step, 8192);  // 32 KiB each: three fit
  release();
  EXPECT_EQ(lost("memory budget full: statistics only"), 7U);
  ASSERT_EQ(script_.rows.size(), 10U);
  EXPECT_EQ(script_.data.size(), 3U);
  for (const RecordRow& row : script_.rows) {
    EXPECT_EQ(row.stats.mean, static_cast<double>(row.step));
    EXPECT_NE((row.flags & kRecordHasData) != 0, (row.flags & kRecordDataLost) != 0);
  }
}

TEST_F(SessionTest, DropsRecordsWhenTheBudgetIsFull) {
  spec_.full_policy = FullPolicy::kDrop;
  spec_.limits.pool_bytes = 100 << 10;
  open();
  hold();
  for (int64_t step = 0; step < 10; ++step) run(step, 8192);
  release();
  EXPECT_EQ(lost("memory budget full: dropped"), 7U);
  EXPECT_EQ(script_.rows.size(), 3U);
}

TEST_F(SessionTest, WaitsWhenTheBudgetIsFull) {
  spec_.full_policy = FullPolicy::kBlock;
  spec_.limits.pool_bytes = 100 << 10;
  open();
  hold();
  std::atomic<int> done{0};
  std::thread program([this, &done] {
    for (int64_t step = 0; step < 10; ++step, ++done) run(step, 8192);
  });
  wait_until_writing();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(done.load(), 3) << "the program is held up";
  release();
  program.join();
  EXPECT_EQ(report()["lost"], 0);
  ASSERT_EQ(script_.data.size(), 10U);
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(script_.data[i], std::vector<float>(8192, static_cast<float>(i)));
  EXPECT_LE(report()["pool_peak_bytes"], 100 << 10);
}

TEST_F(SessionTest, WritesDataOnItsOwnThreadAndStatisticsOnTheProgram) {
  open();
  run(0, 16);
  ASSERT_TRUE(session_->flush().ok());
  EXPECT_NE(script_.threads.at(0), std::this_thread::get_id());
  ASSERT_TRUE(session_->close().ok());
  session_.reset();
  spec_.payload = Payload::kStatistics;
  spec_.out = folder_ + "/statistics";
  open();
  run(1, 16);
  EXPECT_EQ(script_.threads.at(1), std::this_thread::get_id());
}

TEST_F(SessionTest, WritesStatisticsOnItsOwnThreadForLayoutsThatAskForIt) {
  spec_.payload = Payload::kStatistics;
  script_.any_thread = false;
  open();
  for (int64_t step = 0; step < 100; ++step) run(step, 4);
  ASSERT_TRUE(session_->flush().ok());
  ASSERT_EQ(script_.rows.size(), 100U);
  for (const auto& thread : script_.threads) EXPECT_NE(thread, std::this_thread::get_id());
}

TEST_F(SessionTest, CountsRecordsThatCanNotBeWrittenAndKeepsTheirStatistics) {
  script_.answer = errno_status("a file", ENOSPC);
  open();
  run(0, 16);
  run(1, 16);
  EXPECT_EQ(session_->flush().code(), StatusCode::kExhausted);
  EXPECT_EQ(report()["lost"], 2);
  ASSERT_EQ(script_.rows.size(), 2U);
  EXPECT_NE(script_.rows[0].flags & kRecordDataLost, 0);
  EXPECT_EQ(report()["problems"], Json::array({"a file: No space left on device"}));
  EXPECT_EQ(lost("write failed: No space left on device"), 2U);
}

TEST_F(SessionTest, CountsWhatTheLayoutCannotWriteAtTheEnd) {
  open();
  run(0, 16);
  run(1, 16);
  script_.flushed = errno_status("a file", ENOSPC);
  script_.lost_with_flush = 1;
  EXPECT_EQ(session_->close().code(), StatusCode::kExhausted);
  const Json manifest = *parse_json(script_.manifest, "manifest");
  EXPECT_EQ(manifest["records"], 1);
  EXPECT_EQ(manifest["lost"], 1);
  EXPECT_EQ(manifest["losses"][0]["reason"], "write failed: No space left on device");
}

TEST_F(SessionTest, CountsRecordsThatHaveNoPlaceOfTheirOwn) {
  script_.answer = unsupported("two names, one file");
  open();
  run(0, 16);
  EXPECT_TRUE(session_->flush().ok()) << "the tree cannot store it, the capture works";
  EXPECT_EQ(lost("layout has no place of its own for it"), 1U);
  EXPECT_EQ(report()["problems"], Json::array({"two names, one file"}));
  EXPECT_TRUE(script_.rows.empty());
}

TEST_F(SessionTest, SwitchesItselfOffWhenMemoryEnds) {
  script_.throw_bad_alloc = true;
  spec_.payload = Payload::kStatistics;
  open();
  run(0, 16);
  EXPECT_FALSE(session_->is_on());
  script_.throw_bad_alloc = false;
  run(1, 16);
  EXPECT_TRUE(script_.rows.empty());
  EXPECT_EQ(session_->close().code(), StatusCode::kInternal);
  EXPECT_NE(script_.manifest.find("no memory"), std::string::npos);
}

TEST_F(SessionTest, SwitchesItselfOffWhenTheWriterThreadHasNoMemory) {
  script_.throw_bad_alloc = true;
  open();
  run(0, 16);
  EXPECT_FALSE(session_->flush().ok());
  EXPECT_FALSE(session_->is_on());
}

TEST_F(SessionTest, TellsALayoutThatAsksWhenAStepEnds) {
  script_.any_thread = false;
  script_.follows_steps = true;
  spec_.steps = *StepSet::parse("5-6");
  spec_.first_step = 4;
  open();
  for (int64_t step = 0; step < 4; ++step) {
    EXPECT_EQ(session_->step_begin(step, 9), step == 1 || step == 2);
    run(step, 8);
    session_->step_end(step, 9);
  }
  ASSERT_TRUE(session_->flush().ok());
  EXPECT_EQ(script_.ended, (std::vector<Script::Ended>{{5, 9, 1}, {6, 9, 2}}));
  ASSERT_EQ(script_.rows.size(), 2U);
  EXPECT_EQ(script_.rows[0].step, 5);
  EXPECT_EQ(script_.decided, std::vector<bool>{true});
}

TEST_F(SessionTest, KeepsTheFirstElementsOnly) {  // M9
  spec_.sampling.head = 6;
  open();
  run(0, 6);
  run(1, 8192);
  ASSERT_TRUE(session_->flush().ok());
  ASSERT_EQ(script_.rows.size(), 2U);
  EXPECT_EQ(script_.data[1], std::vector<float>(6, 1.0F));
  EXPECT_EQ(script_.rows[1].numel, 6U);
  EXPECT_EQ(script_.rows[1].stats.count, 6U);
  EXPECT_EQ(script_.rows[1].stats.valid & kStatSampled, kStatSampled);
}

TEST_F(SessionTest, BlockedChannelsAreKeptInTheOrderOfTheDims) {  // M14
  // Two channels in one block: channel 0 is 1, 2, NaN; channel 1 is 4, 5, 6.
  const std::vector<float> stored = {1, 4, 2, 5, std::numeric_limits<float>::quiet_NaN(), 6};
  const std::array<int64_t, 3> dims = {1, 2, 3};
  open();
  run_tensor(0, stored, dims, TENSORTAP_TENSOR_CHANNEL_BLOCK(2));
  ASSERT_TRUE(session_->flush().ok());
  ASSERT_EQ(script_.data.size(), 1U);
  EXPECT_EQ(script_.data[0][1], 2);
  EXPECT_TRUE(std::isnan(script_.data[0][2]));
  EXPECT_EQ(script_.data[0][3], 4);
  EXPECT_EQ(script_.rows[0].stats.first_nonfinite, 2);
  ASSERT_TRUE(session_->close().ok());
  session_.reset();
  spec_.payload = Payload::kStatistics;
  spec_.out = folder_ + "/statistics";
  open();
  run_tensor(0, stored, dims, TENSORTAP_TENSOR_CHANNEL_BLOCK(2));
  EXPECT_EQ(script_.rows[1].stats.first_nonfinite, 2) << "found in memory as number 4";
  ASSERT_TRUE(session_->close().ok());
  session_.reset();
  spec_.payload = Payload::kTensor;
  spec_.plain_order = false;
  spec_.out = folder_ + "/blocked";
  open();
  run_tensor(0, stored, dims, TENSORTAP_TENSOR_CHANNEL_BLOCK(2));
  ASSERT_TRUE(session_->flush().ok());
  EXPECT_EQ(script_.data[1][1], 4);
  const RecordRow& blocked = script_.rows.back();
  std::vector<int64_t> in_blocks(dims.begin(), dims.end());
  in_blocks[1] /= 2;
  in_blocks.push_back(2);
  EXPECT_EQ(blocked.desc().shape, Shape(in_blocks)) << "the shape is that of the bytes";
  EXPECT_NE(blocked.flags & kRecordBlocked, 0);
}

TEST_F(SessionTest, OverflowKeepsOnlyWhatMadeNan) {  // M10
  spec_.trigger = Trigger::kOverflow;
  spec_.payload = Payload::kTensor;
  open();
  run(1, 8);
  run_with(2, 8, std::numeric_limits<float>::quiet_NaN());
  ASSERT_TRUE(session_->flush().ok());
  ASSERT_EQ(script_.rows.size(), 1U);
  EXPECT_EQ(script_.rows[0].step, 2);
  EXPECT_EQ(script_.data.size(), 1U);
  EXPECT_EQ(report()["trigger"], (Json{{"fired", 1}, {"over_limit", 0}}));
}

TEST_F(SessionTest, OverflowCountsDataThatFoundNoMemory) {
  spec_.trigger = Trigger::kOverflow;
  spec_.payload = Payload::kTensor;
  spec_.limits.pool_bytes = 64 << 10;
  open();
  run(1, 1 << 20);
  EXPECT_EQ(report()["lost"], 0) << "the trigger did not fire for it";
  run_with(2, 1 << 20, std::numeric_limits<float>::infinity());
  ASSERT_TRUE(session_->flush().ok());
  ASSERT_EQ(script_.rows.size(), 1U);
  EXPECT_NE(script_.rows[0].flags & kRecordDataLost, 0);
  EXPECT_EQ(lost("memory budget full: statistics only"), 1U);
}

TEST_F(SessionTest, SharedFoldersKeepWhatIsInThem) {
  layout_.shares_folder = true;
  std::filesystem::create_directories(spec_.out);
  std::filesystem::create_directories(spec_.out + "/rank_0");
  open();
  session_->discard();
  EXPECT_TRUE(std::filesystem::is_directory(spec_.out + "/rank_0"));
}

TEST_F(SessionTest, FinishesOnce) {
  open();
  ASSERT_TRUE(session_->close().ok());
  ASSERT_TRUE(session_->close().ok());
  session_->discard();
  ASSERT_TRUE(session_->flush().ok());
  EXPECT_EQ(script_.finished, 1);
  EXPECT_EQ(session_->register_op(OpInfo{}), kNoOp);
}

// The governor's own tests, with a separate clock, check how well it keeps a budget; here, the session must do what the governor says.
TEST_F(SessionTest, CapturesTheStepsThatTheGovernorOfABudgetChooses) {  // B8
  spec_.payload = Payload::kStatistics;
  spec_.budget = 0.05;
  open();
  int64_t captured = 0;
  for (int64_t step = 0; step < 50; ++step) {
    session_->step_begin(step, 0);
    const bool wanted = session_->wants(op_, step);
    if (wanted) run(step, 1 << 10);
    captured += wanted ? 1 : 0;
    session_->step_end(step, 0);
  }
  const Json governor = report()["governor"];
  EXPECT_EQ(governor["seen"], 50);
  EXPECT_EQ(governor["captured"], captured);
  EXPECT_GE(captured, 1) << "the first one, whatever it costs";
  EXPECT_EQ(report()["ops"]["captured"], 1);
}

TEST_F(SessionTest, TellsALayoutThatAsksOfEveryExecutionAfterItsRecords) {
  script_.any_thread = false;
  script_.follows_executions = true;
  spec_.steps = *StepSet::parse("1");
  spec_.exclude.push_back({});
  spec_.exclude.back().text = "left out";
  open();
  OpInfo info;
  info.name = "left out";
  info.type = "T";
  const OpId wanted = op_;
  const OpId left_out = session_->register_op(info);
  for (int64_t step = 0; step < 3; ++step) {
    EXPECT_TRUE(session_->step_begin(step, 0)) << "every execution counts";
    for (const OpId op : {wanted, left_out, left_out}) {
      op_ = op;
      EXPECT_TRUE(session_->wants(op, step));
      run(step, 8);
    }
    session_->step_end(step, 0);
  }
  ASSERT_TRUE(session_->flush().ok());
  ASSERT_EQ(script_.executions.size(), 9U);
  EXPECT_EQ(script_.rows.size(), 1U) << "of the wanted op in the wanted step";
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(script_.executions[i].step, static_cast<int64_t>(i / 3));
    EXPECT_EQ(script_.executions[i].op, i % 3 == 0 ? wanted : left_out);
    EXPECT_EQ(script_.executions[i].call, i % 3 == 2 ? 1U : 0U);
    EXPECT_EQ(script_.records_before[i], i < 3 ? 0U : 1U);
  }
}

TEST_F(SessionTest, DescribesTheFirstRoundToALayoutThatAsksWhateverIsCaptured) {
  script_.any_thread = false;
  script_.follows_steps = script_.follows_first_rounds = true;
  spec_.steps = *StepSet::parse("1");
  spec_.exclude.push_back({});
  spec_.exclude.back().text = "left out";
  open();
  OpInfo info;
  info.name = "left out";
  info.type = "T";
  const OpId wanted = op_;
  const OpId left_out = session_->register_op(info);
  for (int64_t step = 0; step < 3; ++step) {
    EXPECT_EQ(session_->step_begin(step, 0), step < 2);
    for (const OpId op : {wanted, left_out}) {
      op_ = op;
      EXPECT_EQ(session_->wants(op, step), step == 0 || (step == 1 && op == wanted));
      run(step, 8);
    }
    session_->step_end(step, 0);
  }
  ASSERT_TRUE(session_->flush().ok());
  ASSERT_EQ(script_.described.size(), 2U);
  EXPECT_EQ(script_.described[0].op, wanted);
  EXPECT_EQ(script_.described[1].op, left_out);
  for (const RecordRow& row : script_.described) {
    EXPECT_EQ(row.step, 0);
    EXPECT_EQ(row.numel, 8U);
    EXPECT_EQ(row.desc().dtype, DType::kFloat32);
  }
  EXPECT_EQ(script_.rows.size(), 1U) << "of the wanted op in the wanted step";
  EXPECT_EQ(script_.ended, (std::vector<Script::Ended>{{0, 0, 2}, {1, 0, 1}}));
}

TEST_F(SessionTest, GivesAnOpTheIdThatItIsSelectedBy) {
  spec_.include.push_back({});
  spec_.include.back().kind = OpSelector::Kind::kId;
  spec_.include.back().text = "0_1";
  open();
  for (const char* name : {"first", "second"}) {
    OpInfo info;
    info.name = name;
    info.type = "T";
    info.parent = op_;
    session_->register_op(info);
  }
  OpInfo weight;
  weight.name = "weight";
  weight.type = kInitializerType;
  session_->register_op(weight);
  EXPECT_EQ(script_.ids, (std::vector<std::string>{"0", "0_0", "0_1", ""}));
  EXPECT_FALSE(session_->wants_op(1));
  EXPECT_TRUE(session_->wants_op(2));
}

TEST_F(SessionTest, LooksAtInputsBeforeAndAtOutputsAfter) {
  spec_.moment = MomentChoice::kInBeforeOutAfter;
  spec_.inputs = spec_.outputs = true;
  open();
  const float values[] = {1, 2};
  const int64_t dim = 2;
  std::array<tensortap_tensor, 2> tensors{};
  for (tensortap_tensor& tensor : tensors) {
    tensor.size = sizeof(tensor);
    tensor.dtype = TENSORTAP_FLOAT32;
    tensor.data = values;
    tensor.dims = &dim;
    tensor.rank = 1;
    tensor.element = -1;
  }
  tensors[0].slot_kind = TENSORTAP_SLOT_INPUT;
  tensortap_op_event event{};
  event.size = sizeof(event);
  event.op = op_;
  event.tensors = tensors.data();
  event.tensor_count = 2;
  for (const uint32_t moment : {TENSORTAP_MOMENT_BEFORE, TENSORTAP_MOMENT_AFTER}) {
    event.moment = moment;
    session_->on_op(event);
  }
  event.moment = TENSORTAP_MOMENT_AFTER;
  event.flags = TENSORTAP_EVENT_READ_FIRST;
  session_->on_op(event);
  ASSERT_TRUE(session_->flush().ok());
  ASSERT_EQ(script_.rows.size(), 3U);
  for (const RecordRow& row : script_.rows) {
    const bool is_input = row.slot_kind == TENSORTAP_SLOT_INPUT;
    EXPECT_EQ(row.moment, is_input ? TENSORTAP_MOMENT_BEFORE : TENSORTAP_MOMENT_AFTER);
  }
  EXPECT_EQ(script_.rows[1].slot_kind, TENSORTAP_SLOT_OUTPUT);
}

TEST_F(SessionTest, TakesEventsOfModulesFromASourceThatReportsThem) {
  spec_.levels = {"module"};
  SessionOptions options;
  options.spec = spec_;
  options.layout = &layout_;
  EXPECT_EQ(CaptureSession::open(options).status().code(), StatusCode::kInvalidArgument) << "no source would report them";
  options.modules = true;
  auto opened = CaptureSession::open(std::move(options));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  session_ = *std::move(opened);
  OpInfo info;
  info.name = "layer";
  info.type = "Linear";
  info.level = Level::kModule;
  op_ = session_->register_op(info);
  run(0, 8);
  info.name = "add";
  info.level = Level::kOp;
  op_ = session_->register_op(info);
  run(0, 8);
  ASSERT_TRUE(session_->flush().ok());
  ASSERT_EQ(script_.rows.size(), 1U);
  EXPECT_EQ(script_.rows[0].op, 0U);
}

}  // namespace
}  // namespace tensortap
