// The C capture interface held against a toy runtime: what is kept, counted and survived.

#include <tensortap/tensortap.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <thread>

#include "toy_engine.h"

namespace {

using nlohmann::json;
using toy::add_op;
using toy::event_of;
using toy::FloatTensor;
using toy::open_session;
using toy::read_dump;
using toy::report_of;
using toy::run_op;

class CaptureApi : public testing::Test {
 protected:
  void open(const json& config) {
    const toy::Opened opened = open_session(config, out_);
    ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
    session_ = opened.session;
  }
  int close() { return tensortap_session_close(std::exchange(session_, nullptr)); }
  ~CaptureApi() override { tensortap_session_close(session_); }

  toy::TempFolder folder_;
  std::string out_ = folder_ / "dump";
  tensortap_session* session_ = nullptr;
};

TEST_F(CaptureApi, KeepsStatisticsAndDataOfEveryOutput) {
  open({{"payload", "full"}});
  const tensortap_op_id op = add_op(session_, "relu_1", "Relu");
  run_op(session_, op, 7, {1, -2, 3, 0});
  run_op(session_, op, 7, {5});
  ASSERT_EQ(close(), TENSORTAP_OK);
  const auto dump = read_dump(out_);
  ASSERT_EQ(dump->rows().size(), 2U);
  std::map<uint32_t, size_t> by_call;
  for (size_t i = 0; i < 2; ++i) by_call[dump->rows()[i].call] = i;
  ASSERT_TRUE(by_call.contains(0) && by_call.contains(1));
  const tensortap::RecordRow& row = dump->rows()[by_call[0]];
  EXPECT_EQ(row.step, 7);
  EXPECT_EQ(tensortap::op_of(*dump, row).name, "relu_1");
  EXPECT_EQ(row.stats.min, -2);
  EXPECT_EQ(row.stats.max, 3);
  EXPECT_EQ(row.stats.mean, 0.5);
  EXPECT_EQ(row.stats.zero, 1U);
  EXPECT_EQ(toy::floats_of(*dump, by_call[0]), (std::vector<float>{1, -2, 3, 0}));
  EXPECT_EQ(toy::floats_of(*dump, by_call[1]), std::vector<float>{5});
}

TEST_F(CaptureApi, ReplacesItsPlanFromTheNextStepOn) {
  const auto config = [](const char* op) { return json{{"include", json::array({json{{"name", op}}})}, {"limits", {{"keep_free", 0}}}}; };
  open(config("first"));
  const std::array<tensortap_op_id, 2> ops = {add_op(session_, "first", "Relu"), add_op(session_, "second", "Relu")};
  const auto run_step = [&](int64_t step, const std::string& change) {
    tensortap_step_begin(session_, step, 0);
    if (!change.empty()) {
      EXPECT_EQ(tensortap_replace_plan(session_, change.c_str(), "live.json", nullptr, 0), TENSORTAP_OK);
    }
    for (const tensortap_op_id op : ops) {
      if (tensortap_wants(session_, op, step) != 0) run_op(session_, op, step, {1});
    }
    tensortap_step_end(session_, step, 0);
  };
  run_step(0, config("second").dump());
  run_step(1, "");
  std::array<char, 256> message{};
  EXPECT_EQ(tensortap_replace_plan(session_, R"({"include": 1})", "live.json", message.data(), message.size()), TENSORTAP_INVALID_ARGUMENT);
  EXPECT_NE(std::string(message.data()).find("live.json:1:"), std::string::npos) << message.data();
  EXPECT_EQ(tensortap_replace_plan(session_, R"({"budget": 0.5, "limits": {"keep_free": 0}})", "live.json", message.data(), message.size()),
            TENSORTAP_INVALID_ARGUMENT);
  EXPECT_NE(std::string(message.data()).find("budget"), std::string::npos) << message.data();
  EXPECT_EQ(tensortap_replace_plan(nullptr, nullptr, nullptr, nullptr, 0), TENSORTAP_OK);
  EXPECT_EQ(tensortap_identity(session_), TENSORTAP_IDENTITY_PLACE);
  run_step(2, "");
  EXPECT_EQ(report_of(session_)["ops"]["captured"], 2);
  ASSERT_EQ(close(), TENSORTAP_OK);
  const auto dump = read_dump(out_);
  ASSERT_EQ(dump->rows().size(), 3U);
  for (const tensortap::RecordRow& row : dump->rows()) EXPECT_EQ(row.op, row.step == 0 ? ops[0] : ops[1]);
}

TEST_F(CaptureApi, AcceptsNullEverywhere) {
  std::array<char, 64> message{};
  tensortap_session* session = nullptr;
  EXPECT_EQ(tensortap_session_open(nullptr, &session, message.data(), message.size()), TENSORTAP_INVALID_ARGUMENT);
  EXPECT_STRNE(message.data(), "");
  tensortap_session_options options{};
  options.size = sizeof(options);
  options.version = TENSORTAP_CAPTURE_VERSION;
  EXPECT_EQ(tensortap_session_open(&options, nullptr, nullptr, 0), TENSORTAP_INVALID_ARGUMENT);
  EXPECT_EQ(tensortap_session_close(nullptr), TENSORTAP_OK);
  EXPECT_EQ(tensortap_session_flush(nullptr), TENSORTAP_OK);
  tensortap_session_discard(nullptr);
  tensortap_session_enable(nullptr, 1);
  EXPECT_EQ(tensortap_register_op(nullptr, nullptr), TENSORTAP_NO_OP);
  EXPECT_EQ(tensortap_bind(nullptr, nullptr, 0), TENSORTAP_OK);
  EXPECT_EQ(tensortap_wants_op(nullptr, 0), 0);
  EXPECT_EQ(tensortap_wants(nullptr, 0, 0), 0);
  EXPECT_EQ(tensortap_step_begin(nullptr, 0, 0), 0);
  tensortap_step_end(nullptr, 0, 0);
  tensortap_on_op(nullptr, nullptr);
  tensortap_op_failed(nullptr, nullptr, nullptr);
  tensortap_not_captured(nullptr, 0, nullptr);
  tensortap_free(nullptr);
  open({});
  tensortap_on_op(session_, nullptr);
  tensortap_op_failed(session_, nullptr, nullptr);
  tensortap_not_captured(session_, 99, "x");
  EXPECT_EQ(tensortap_register_op(session_, nullptr), TENSORTAP_NO_OP);
  tensortap_op nameless{};
  nameless.size = sizeof(nameless);
  EXPECT_EQ(tensortap_register_op(session_, &nameless), TENSORTAP_NO_OP);
  EXPECT_EQ(report_of(session_)["records"], 0);
}

TEST_F(CaptureApi, ReadsStructuresOfOlderAndNewerCallers) {
  open({{"payload", "full"}});
  struct Newer {
    tensortap_op op;
    uint64_t later_field;
  } newer{};
  newer.op.size = sizeof(newer);
  newer.op.name = "newer";
  newer.op.type = "T";
  newer.op.parent = TENSORTAP_NO_OP;
  newer.later_field = ~uint64_t{0};
  const tensortap_op_id op = tensortap_register_op(session_, &newer.op);
  ASSERT_NE(op, TENSORTAP_NO_OP);

  tensortap_op older{};
  older.size = offsetof(tensortap_op, originals);
  older.name = "older";
  older.type = "T";
  older.originals = reinterpret_cast<const char* const*>(1);  // beyond its size: never read
  older.original_count = 7;
  EXPECT_NE(tensortap_register_op(session_, &older), TENSORTAP_NO_OP);

  struct WideTensor {
    tensortap_tensor tensor;
    uint64_t later_field;
  };
  const std::vector<float> a = {1, 2};
  const std::vector<float> b = {3};
  const FloatTensor first(a);
  const FloatTensor second(b, TENSORTAP_SLOT_OUTPUT, 1);
  std::array<WideTensor, 2> wide{WideTensor{first.c, 1}, WideTensor{second.c, 2}};
  for (WideTensor& tensor : wide) tensor.tensor.size = sizeof(WideTensor);
  tensortap_op_event event = event_of(op, 0, &wide[0].tensor, 2);
  event.size = offsetof(tensortap_op_event, parallel_for);
  event.parallel_for = reinterpret_cast<tensortap_parallel_for>(1);  // beyond its size: never called
  tensortap_on_op(session_, &event);
  event.size = 4;  // nothing in it
  tensortap_on_op(session_, &event);
  ASSERT_EQ(close(), TENSORTAP_OK);
  const auto dump = read_dump(out_);
  ASSERT_EQ(dump->rows().size(), 2U);
  EXPECT_EQ(toy::floats_of(*dump, dump->rows()[0].slot_index == 0 ? 0 : 1), a);
  EXPECT_EQ(toy::floats_of(*dump, dump->rows()[0].slot_index == 0 ? 1 : 0), b);
}

TEST_F(CaptureApi, RefusesAnInterfaceOfTheFuture) {
  tensortap_session_options options{};
  options.size = sizeof(options);
  options.version = TENSORTAP_CAPTURE_VERSION + 1;
  std::array<char, 256> message{};
  tensortap_session* session = nullptr;
  EXPECT_EQ(tensortap_session_open(&options, &session, message.data(), message.size()), TENSORTAP_UNSUPPORTED);
  EXPECT_EQ(session, nullptr);
}

TEST_F(CaptureApi, CutsMessagesToTheirRoom) {
  tensortap_session_options options{};
  options.size = sizeof(options);
  options.version = TENSORTAP_CAPTURE_VERSION;
  options.config = R"({"nonsense": 1, "tensortap": 1})";
  std::array<char, 8> message{};
  message.fill('x');
  tensortap_session* session = nullptr;
  EXPECT_EQ(tensortap_session_open(&options, &session, message.data(), message.size()), TENSORTAP_INVALID_ARGUMENT);
  EXPECT_EQ(strnlen(message.data(), message.size()), message.size() - 1);
}

TEST_F(CaptureApi, CountsEventsOfUnknownOps) {
  open({});
  run_op(session_, 12345, 0, {1});
  run_op(session_, TENSORTAP_NO_OP, 0, {1});
  const json report = report_of(session_);
  EXPECT_EQ(toy::lost_for(report, "event of an unknown op"), 2U);
  EXPECT_EQ(report["lost"], 2);
}

TEST_F(CaptureApi, TakesEventsBeforeBindAndWithoutIt) {
  open({{"include", json::array({{{"name", "b"}}})}});
  const tensortap_op_id a = add_op(session_, "a");
  const tensortap_op_id b = add_op(session_, "b");
  EXPECT_EQ(tensortap_wants_op(session_, a), 0);
  EXPECT_EQ(tensortap_wants_op(session_, b), 1);
  run_op(session_, a, 0, {1});
  run_op(session_, b, 0, {2});
  std::array<char, 256> message{};
  ASSERT_EQ(tensortap_bind(session_, message.data(), message.size()), TENSORTAP_OK) << message.data();
  run_op(session_, a, 1, {1});
  run_op(session_, b, 1, {2});
  ASSERT_EQ(close(), TENSORTAP_OK);
  const auto dump = read_dump(out_);
  ASSERT_EQ(dump->rows().size(), 2U);
  for (const auto& row : dump->rows()) EXPECT_EQ(row.op, b);
}

TEST_F(CaptureApi, RefusesNamesThatMatchNothingAndLeavesNoFolder) {
  open({{"include", json::array({{{"name", "rellu"}}})}});
  add_op(session_, "relu");
  std::array<char, 256> message{};
  EXPECT_EQ(tensortap_bind(session_, message.data(), message.size()), TENSORTAP_INVALID_ARGUMENT);
  EXPECT_NE(std::string(message.data()).find("relu"), std::string::npos) << message.data();
  close();
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(CaptureApi, DiscardsWhatItMade) {
  out_ = folder_ / "a/b/c";
  open({{"payload", "full"}});
  run_op(session_, add_op(session_, "x"), 0, {1, 2, 3});
  tensortap_session_discard(std::exchange(session_, nullptr));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(CaptureApi, MakesNamesUnique) {
  open({});
  for (int i = 0; i < 3; ++i) run_op(session_, add_op(session_, "same"), 0, {1});
  close();
  const auto dump = read_dump(out_);
  ASSERT_EQ(dump->ops().size(), 3U);
  EXPECT_EQ(dump->ops()[0].name, "same");
  EXPECT_EQ(dump->ops()[1].name, "same#2");
  EXPECT_EQ(dump->ops()[2].name, "same#3");
}

// A runtime whose thread pool runs instrumented work: it reports an op from inside the split of the statistics.
struct ReenteringPool {
  tensortap_session* session;
  tensortap_op_id op;
  int calls = 0;
};

void reentering_parallel_for(void* pool, void (*task)(void*, size_t), size_t count, void* context) {
  auto* self = static_cast<ReenteringPool*>(pool);
  ++self->calls;
  run_op(self->session, self->op, 0, {1});
  for (size_t i = 0; i < count; ++i) task(context, i);
}

TEST_F(CaptureApi, IgnoresEventsFromInsideItself) {
  open({});
  const tensortap_op_id op = add_op(session_, "big");
  ReenteringPool pool{session_, add_op(session_, "inner")};
  const std::vector<float> values(size_t{8} << 20, 1.0F);
  const FloatTensor tensor(values);
  tensortap_op_event event = event_of(op, 0, &tensor.c, 1);
  event.parallel_for = reentering_parallel_for;
  event.pool = &pool;
  tensortap_on_op(session_, &event);
  ASSERT_GT(pool.calls, 0) << "a tensor of 32 MB is split over the runtime's threads";
  run_op(session_, pool.op, 1, {1});
  close();
  const auto dump = read_dump(out_);
  ASSERT_EQ(dump->rows().size(), 2U);
  EXPECT_EQ(dump->rows()[0].op, op);
  EXPECT_EQ(dump->rows()[0].stats.mean, 1.0);
  EXPECT_EQ(dump->rows()[1].step, 1);
}

TEST_F(CaptureApi, KeepsEightThreadsApart) {  // F: eight threads on one session
  open({{"payload", "full"}, {"limits", {{"pool_bytes", 1 << 20}}}});
  constexpr int kThreads = 8;
  constexpr int kSteps = 100;
  const tensortap_op_id shared = add_op(session_, "shared");
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t, shared] {
      const tensortap_op_id own = add_op(session_, "own" + std::to_string(t));
      for (int step = 0; step < kSteps; ++step) {
        const auto run = static_cast<uint64_t>(t);
        run_op(session_, shared, step, std::vector<float>(64 + t, static_cast<float>(t * 1000 + step)), run);
        run_op(session_, own, step, {static_cast<float>(step)}, run);
        run_op(session_, own, step, {static_cast<float>(-step)}, run);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(close(), TENSORTAP_OK);
  const auto dump = read_dump(out_);
  ASSERT_EQ(dump->rows().size(), size_t{kThreads} * kSteps * 3);
  std::set<std::tuple<uint32_t, uint64_t, int64_t, uint32_t>> seen;
  for (size_t i = 0; i < dump->rows().size(); ++i) {
    const auto& row = dump->rows()[i];
    EXPECT_TRUE(seen.emplace(row.op, row.run, row.step, row.call).second) << "twice";
    const auto expected = row.op == shared ? static_cast<float>(row.run * 1000 + static_cast<uint64_t>(row.step))
                          : row.call == 0  ? static_cast<float>(row.step)
                                           : static_cast<float>(-row.step);
    EXPECT_EQ(row.stats.min, expected);
    EXPECT_EQ(toy::floats_of(*dump, i), std::vector<float>(row.numel, expected));
  }
}

TEST_F(CaptureApi, KeepsTheInputsOfAFailedOp) {  // A: exception
  open({{"include", json::array({{{"name", "other"}}})}});
  add_op(session_, "other");
  const tensortap_op_id op = add_op(session_, "reshape_1", "Reshape");
  const std::vector<float> values = {1, 2, 3};
  const FloatTensor tensor(values, TENSORTAP_SLOT_INPUT);
  const tensortap_op_event event = event_of(op, 4, &tensor.c, 1);
  tensortap_op_failed(session_, &event, "cannot reshape {3} to {2,2}");
  const json report = report_of(session_);
  EXPECT_EQ(report["failed_op"]["name"], "reshape_1");
  EXPECT_EQ(report["failed_op"]["error"], "cannot reshape {3} to {2,2}");
  ASSERT_EQ(report["failed_op"]["inputs"], json::array({"reshape_1:in0@4"}));
  close();
  const auto dump = read_dump(out_);
  ASSERT_EQ(dump->rows().size(), 1U);
  EXPECT_NE(dump->rows()[0].flags & tensortap::kRecordFailedOp, 0);
  EXPECT_EQ(toy::floats_of(*dump, 0), values);
}

TEST_F(CaptureApi, RecordsNothingWhileDisabled) {
  open({});
  const tensortap_op_id op = add_op(session_, "a");
  tensortap_session_enable(session_, 0);
  run_op(session_, op, 0, {1});
  EXPECT_EQ(tensortap_wants(session_, op, 0), 0);
  EXPECT_EQ(tensortap_step_begin(session_, 0, 0), 0);
  tensortap_session_enable(session_, 1);
  run_op(session_, op, 1, {1});
  close();
  ASSERT_EQ(read_dump(out_)->rows().size(), 1U);
}

TEST_F(CaptureApi, StaysOffWhenTheEnvironmentSaysSo) {
  setenv("TENSORTAP_DISABLE", "1", 1);
  const toy::Opened opened = open_session({}, out_);
  unsetenv("TENSORTAP_DISABLE");
  ASSERT_EQ(opened.status, TENSORTAP_OK);
  EXPECT_EQ(add_op(opened.session, "a"), TENSORTAP_NO_OP);
  tensortap_session_enable(opened.session, 1);
  run_op(opened.session, 0, 0, {1});
  EXPECT_TRUE(report_of(opened.session).contains("disabled"));
  EXPECT_EQ(tensortap_session_close(opened.session), TENSORTAP_OK);
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(CaptureApi, DescribesWhatItCanNotLookInto) {
  open({{"payload", "full"}});
  const tensortap_op_id op = add_op(session_, "odd");
  const std::vector<float> one = {1};
  FloatTensor tensor(one);
  const std::vector<int64_t> dims(33, 1);
  tensor.c.dims = dims.data();
  tensor.c.rank = 33;
  tensortap_op_event event = event_of(op, 0, &tensor.c, 1);
  tensortap_on_op(session_, &event);  // too many dimensions
  tensor.c.dims = tensor.dims.data();
  tensor.c.rank = 1;
  tensor.c.dtype = 200;
  tensortap_on_op(session_, &event);  // no such type
  tensor.c.dtype = TENSORTAP_FLOAT32;
  tensor.c.data = nullptr;
  tensortap_on_op(session_, &event);  // not in host memory
  tensor.dims[0] = -3;
  tensortap_on_op(session_, &event);  // impossible
  tensor.c.dims = nullptr;
  tensortap_on_op(session_, &event);  // impossible
  const std::array<int64_t, 2> huge = {INT64_MAX, INT64_MAX};
  tensor.c.dims = huge.data();
  tensor.c.rank = 2;
  tensortap_on_op(session_, &event);  // impossible
  const json report = report_of(session_);
  EXPECT_EQ(toy::lost_for(report, "more than 32 dimensions"), 1U);
  EXPECT_EQ(toy::lost_for(report, "unknown element type"), 1U);
  EXPECT_EQ(toy::lost_for(report, "malformed event"), 3U);
  EXPECT_EQ(report["records"], 3);
  EXPECT_EQ(report["ops"]["captured"], 0);
  EXPECT_EQ(report["ops"]["not_captured"][0]["reason"], "description only: no data in host memory");
}

TEST_F(CaptureApi, KeepsTensorsOfThirtyTwoDimensions) {
  open({{"payload", "full"}});
  const tensortap_op_id op = add_op(session_, "deep");
  const std::vector<float> values = {1, 2, 3, 4};
  FloatTensor tensor(values);
  std::vector<int64_t> dims(32, 1);
  dims[0] = dims[31] = 2;
  tensor.c.dims = dims.data();
  tensor.c.rank = 32;
  const tensortap_op_event event = event_of(op, 0, &tensor.c, 1);
  tensortap_on_op(session_, &event);
  ASSERT_EQ(close(), TENSORTAP_OK);
  const auto dump = read_dump(out_);
  ASSERT_EQ(dump->rows().size(), 1U);
  EXPECT_EQ(dump->rows()[0].desc().shape, tensortap::Shape(dims));
  EXPECT_EQ(toy::floats_of(*dump, 0), values);
}

TEST_F(CaptureApi, KeepsHowATensorLayInMemory) {
  open({{"payload", "full"}});
  const tensortap_op_id op = add_op(session_, "transpose");
  const std::vector<float> memory = {0, 1, 2, 3, 4, 5};
  FloatTensor tensor(memory);
  const std::array<int64_t, 2> dims = {3, 2};
  const std::array<int64_t, 2> strides = {1, 3};
  tensor.c.dims = dims.data();
  tensor.c.strides = strides.data();
  tensor.c.rank = 2;
  const tensortap_op_event event = event_of(op, 0, &tensor.c, 1);
  tensortap_on_op(session_, &event);
  ASSERT_EQ(close(), TENSORTAP_OK);
  const auto dump = read_dump(out_);
  ASSERT_EQ(dump->rows().size(), 1U);
  const std::span<const int32_t> kept = dump->rows()[0].strides_of();
  EXPECT_EQ(std::vector<int64_t>(kept.begin(), kept.end()), std::vector<int64_t>(strides.begin(), strides.end()));
  EXPECT_EQ(toy::floats_of(*dump, 0), (std::vector<float>{0, 3, 1, 4, 2, 5})) << "values are in the order of the dimensions";
}

TEST_F(CaptureApi, SaysWhichOpsWereNotCapturedAndWhy) {  // B2
  open({{"exclude", json::array({{{"name", "unwanted"}}})}});
  const tensortap_op_id ran = add_op(session_, "ran");
  add_op(session_, "idle");
  const tensortap_op_id sequence = add_op(session_, "sequence");
  add_op(session_, "unwanted");
  tensortap_not_captured(session_, sequence, "sequence output");
  tensortap_bind(session_, nullptr, 0);
  run_op(session_, ran, 0, {1});
  const json ops = report_of(session_)["ops"];
  EXPECT_EQ(ops["registered"], 4);
  EXPECT_EQ(ops["expected"], 3);
  EXPECT_EQ(ops["captured"], 1);
  EXPECT_EQ(ops["not_wanted"], 1);
  const json expected = {{{"reason", "never ran"}, {"count", 1}, {"examples", {"idle"}}},
                         {{"reason", "sequence output"}, {"count", 1}, {"examples", {"sequence"}}}};
  EXPECT_EQ(ops["not_captured"], expected);
}

TEST_F(CaptureApi, FollowsTheFirstNonFiniteValue) {  // B4
  open({});
  const tensortap_op_id good = add_op(session_, "good");
  const tensortap_op_id bad = add_op(session_, "div_12", "Div");
  run_op(session_, good, 0, {1, 2});
  EXPECT_TRUE(report_of(session_)["first_nonfinite"].is_null());
  const std::array<float, 6> values = {0, 1, 2, 3, NAN, INFINITY};
  const std::array<int64_t, 2> dims = {2, 3};
  tensortap_tensor tensor = tensortap::output(TENSORTAP_FLOAT32, values.data(), dims);
  tensortap_op_event event = event_of(bad, 3, &tensor, 1);
  tensortap_on_op(session_, &event);
  run_op(session_, good, 4, {NAN});
  const json first = report_of(session_)["first_nonfinite"];
  const json expected = {{"step", 3},    {"op", "div_12"}, {"type", "Div"},   {"slot", "out0"},   {"nan", 1},
                         {"pos_inf", 1}, {"neg_inf", 0},   {"index", {1, 1}}, {"source", nullptr}};
  EXPECT_EQ(first, expected);
}

TEST_F(CaptureApi, KeepsRunsAtTheSameTimeApart) {
  open({});
  const tensortap_op_id op = add_op(session_, "a");
  for (int call = 0; call < 3; ++call) {
    for (uint64_t run = 1; run <= 2; ++run) run_op(session_, op, 0, {1}, run);
  }
  close();
  std::map<uint64_t, std::vector<uint32_t>> calls;
  const auto dump = read_dump(out_);
  for (const auto& row : dump->rows()) calls[row.run].push_back(row.call);
  EXPECT_EQ(calls[1], (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(calls[2], (std::vector<uint32_t>{0, 1, 2}));
}

TEST_F(CaptureApi, KeepsOnlyWhatTheConditionLetsThrough) {  // B7
  open({{"where", "max > 10"}});
  const tensortap_op_id op = add_op(session_, "a");
  run_op(session_, op, 0, {1});
  run_op(session_, op, 1, {11});
  const json report = report_of(session_);
  EXPECT_EQ(report["records"], 1);
  EXPECT_EQ(report["records_left_out_by_condition"], 1);
  EXPECT_EQ(report["lost"], 0);
  close();
  EXPECT_EQ(read_dump(out_)->rows()[0].step, 1);
}

TEST_F(CaptureApi, CapturesOnlyTheStepsAskedFor) {
  open({{"steps", "1,3-4"}});
  const tensortap_op_id op = add_op(session_, "a");
  std::vector<int> begun;
  for (int64_t step = 0; step < 6; ++step) {
    begun.push_back(tensortap_step_begin(session_, step, 0));
    EXPECT_EQ(tensortap_wants(session_, op, step), begun.back());
    run_op(session_, op, step, {1});
    tensortap_step_end(session_, step, 0);
  }
  EXPECT_EQ(begun, (std::vector<int>{0, 1, 0, 1, 1, 0}));
  close();
  const auto dump = read_dump(out_);
  std::vector<int64_t> steps;
  for (const auto& row : dump->rows()) steps.push_back(row.step);
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 3, 4}));
}

TEST_F(CaptureApi, StopsAfterSoManySteps) {
  open({{"limits", {{"stop_after", 2}}}});
  const tensortap_op_id op = add_op(session_, "a");
  for (int64_t step = 0; step < 5; ++step) run_op(session_, op, step, {1});
  EXPECT_EQ(report_of(session_)["steps"], (json{{"seen", 5}, {"captured", 2}}));
  close();
  EXPECT_EQ(read_dump(out_)->rows().size(), 2U);
}

TEST_F(CaptureApi, CountsWhatLimitsCutOff) {
  // Room for one of the tensors beside the rows and what every dump has.
  open({{"payload", "full"}, {"limits", {{"max_records", 3}, {"max_bytes", 32768 + 7000}}}});
  const tensortap_op_id op = add_op(session_, "a");
  for (int64_t step = 0; step < 5; ++step) run_op(session_, op, step, std::vector<float>(1000, 1));
  const json report = report_of(session_);
  EXPECT_EQ(toy::lost_for(report, "limit: max_records"), 2U);
  EXPECT_EQ(toy::lost_for(report, "limit: max_bytes"), 2U);
  close();
  const auto dump = read_dump(out_);
  ASSERT_EQ(dump->rows().size(), 3U);
  int with_data = 0;
  for (const auto& row : dump->rows()) {
    EXPECT_EQ(row.stats.mean, 1.0);
    with_data += (row.flags & tensortap::kRecordHasData) != 0 ? 1 : 0;
    EXPECT_NE((row.flags & tensortap::kRecordHasData) != 0, (row.flags & tensortap::kRecordDataLost) != 0);
  }
  EXPECT_EQ(with_data, 1);
}

TEST_F(CaptureApi, WritesTensorsLargerThanThePool) {
  open({{"payload", "tensor"}, {"limits", {{"pool_bytes", 65536}}}});
  const tensortap_op_id op = add_op(session_, "a");
  std::vector<float> values(100000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  FloatTensor tensor(values);
  const std::array<int64_t, 1> strides = {-1};
  tensor.c.strides = strides.data();
  tensor.c.data = values.data() + values.size() - 1;
  const tensortap_op_event reversed = event_of(op, 1, &tensor.c, 1);
  run_op(session_, op, 0, values);
  tensortap_on_op(session_, &reversed);
  ASSERT_EQ(close(), TENSORTAP_OK);
  const auto dump = read_dump(out_);
  ASSERT_EQ(dump->rows().size(), 2U);
  EXPECT_EQ(toy::floats_of(*dump, 0), values);
  std::reverse(values.begin(), values.end());
  EXPECT_EQ(toy::floats_of(*dump, 1), values);
}

TEST_F(CaptureApi, KeepsStrings) {
  open({{"payload", "full"}});
  const tensortap_op_id op = add_op(session_, "names");
  const std::array<tensortap_string, 3> strings = {tensortap_string{"abc", 3}, tensortap_string{nullptr, 0}, tensortap_string{"x\0y", 3}};
  const std::array<int64_t, 1> dims = {3};
  tensortap_tensor tensor = tensortap::output(TENSORTAP_STRING, strings.data(), dims);
  const tensortap_op_event event = event_of(op, 0, &tensor, 1);
  tensortap_on_op(session_, &event);
  ASSERT_EQ(close(), TENSORTAP_OK);
  const auto dump = read_dump(out_);
  const auto data = dump->data(0);
  ASSERT_TRUE(data.ok()) << data.status().message();
  const auto* elements = static_cast<const tensortap::StringElement*>(data->view.data);
  EXPECT_EQ(std::string(elements[0].data, elements[0].size), "abc");
  EXPECT_EQ(elements[1].size, 0U);
  EXPECT_EQ(std::string(elements[2].data, elements[2].size), std::string("x\0y", 3));
}

TEST_F(CaptureApi, WritesOneFolderForEachRank) {
  for (int32_t rank = 0; rank < 2; ++rank) {
    const toy::Opened opened = open_session({}, out_, rank, 2);
    ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
    run_op(opened.session, add_op(opened.session, "a"), 0, {1});
    tensortap_session_close(opened.session);
  }
  EXPECT_EQ(read_dump(out_ + "/rank_1")->rows()[0].rank, 1);
  EXPECT_EQ(open_session({}, folder_ / "other", 2, 2).status, TENSORTAP_INVALID_ARGUMENT);
}

TEST_F(CaptureApi, HasACppFace) {
  tensortap::Session session;
  EXPECT_FALSE(session.is_open());
  EXPECT_EQ(session.report(), "");
  EXPECT_NE(session.open(R"({"stepps": 1, "tensortap": 1})", "toy 1.0"), "");
  const json config = {{"payload", "full"}, {"out", out_}, {"limits", {{"keep_free", 0}}}};
  ASSERT_EQ(session.open(config.dump(), "toy 1.0", "test"), "");
  const tensortap::Op op = session.add_op({.name = "relu_1", .type = "Relu", .inputs = {"x"}, .outputs = {"y"}});
  ASSERT_EQ(session.bind(), "");
  const std::array<float, 2> values = {1, 2};
  const std::array<int64_t, 1> dims = {2};
  {
    const tensortap::Step step(session, 0);
    EXPECT_TRUE(step.captured());
    EXPECT_TRUE(session.wants(op, 0));
    session.on_op(op, 0, {tensortap::output(TENSORTAP_FLOAT32, values.data(), dims)});
  }
  EXPECT_EQ(json::parse(session.report())["records"], 1);
  EXPECT_EQ(session.close(), TENSORTAP_OK);
  EXPECT_EQ(read_dump(out_)->ops()[0].outputs, std::vector<std::string>{"y"});
}

}  // namespace
