#include <gtest/gtest.h>
#include <tensortap/asking.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "base/json.h"
#include "session/fake_layout.h"
#include "session/tensor_look.h"

namespace tensortap {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A device whose copies come when a test lets them.
struct LateDevice {
  LateDevice() {
    device.size = sizeof device;
    device.name = "late";
    device.memory = this;
    device.fetch = [](const tensortap_device* given, const void* source, int* packed, const char**) -> const void* {
      ++self(given).fetched;
      *packed = 0;
      return source;
    };
    device.queue = [](const tensortap_device* given, const void* source, int* packed, void** ticket, const char** reason) {
      LateDevice& own = self(given);
      *packed = 0;
      *reason = "broken";
      if (own.answer != TENSORTAP_DEVICE_QUEUED) return own.answer;
      ++own.queued;
      *ticket = const_cast<void*>(source);
      return TENSORTAP_DEVICE_QUEUED;
    };
    device.poll = [](const tensortap_device* given, void* ticket, const void** data) {
      *data = ticket;
      return self(given).state.load();
    };
    device.drop = [](const tensortap_device* given, void*) { ++self(given).dropped; };
    device.measure = [](const tensortap_device* given, const void*, uint32_t asked, tensortap_measuring* begun, const char** reason) {
      LateDevice& own = self(given);
      own.wanted = asked;
      *reason = "of no use";
      if (own.measuring != TENSORTAP_DEVICE_QUEUED) return own.measuring;
      *begun = {own.parts.data(), own.parts.size(), 7, own.kernels};
      return TENSORTAP_DEVICE_QUEUED;
    };
  }
  static LateDevice& self(const tensortap_device* given) { return *static_cast<LateDevice*>(given->memory); }
  void own(FakeEvent& event, uint64_t version = 0, uintptr_t address = 64) const {
    event.tensor.data = nullptr;
    event.tensor.device = &device;
    event.tensor.source = event.values.data();
    event.tensor.identity = reinterpret_cast<const void*>(address);
    event.tensor.flags = TENSORTAP_TENSOR_ON_DEVICE;
    event.tensor.storage = version == 0 ? 0 : 1;
    event.tensor.version = version;
  }
  tensortap_device device{};
  std::atomic<int> state{0};
  int answer = TENSORTAP_DEVICE_QUEUED;
  int measuring = TENSORTAP_DEVICE_QUEUED;
  std::vector<tensortap_measured> parts{};
  uint64_t kernels = 0;
  uint32_t wanted = 0;
  int fetched = 0;
  int queued = 0;
  std::atomic<int> dropped{0};
};

CaptureSpec statistics(DeviceStats way = DeviceStats::kAuto) {
  CaptureSpec spec = FakeParts::spec();
  spec.payload = Payload::kStatistics;
  spec.device_stats = way;
  return spec;
}

TakenEvent take(FakeParts& parts, const FakeEvent& event) {
  TakenEvent taken = parts.taken(event.event);
  parts.look.take_all(taken);
  return taken;
}

TEST(LateLook, HandsTheRecordOnWhenItsElementsCome) {
  FakeParts parts(statistics());
  LateDevice device;
  const OpId op = parts.add("op");
  {
    FakeEvent event(op, {1, 2, 6});
    device.own(event);
    take(parts, event);
    EXPECT_TRUE(parts.layout.written().empty());
    device.state = 1;
    parts.sink.flush();
  }
  ASSERT_EQ(parts.layout.written().size(), 1U);
  EXPECT_EQ(parts.layout.written()[0].row.stats.mean, 3.0);
  EXPECT_TRUE(parts.ops.find(op)->has(kOpCaptured));
  EXPECT_EQ(device.fetched, 0);
  EXPECT_EQ(device.dropped, 1);
  const Json report = parts.devices.report();
  EXPECT_EQ(report[0]["tensors"], 1);
  EXPECT_EQ(report[0]["waited"], 0);
  EXPECT_EQ(report[0]["bytes_fetched"], 12);
  parts.sink.stop();
}

TEST(LateLook, WritesTheElementsOfStridedAndSharedTensorsOnce) {
  FakeParts parts(FakeParts::spec());
  LateDevice device;
  const OpId op = parts.add("op");
  FakeEvent event(op, {1, 2, 3, 4, 5, 6});
  const int64_t stride = 2;
  event.dim = 3;
  event.tensor.strides = &stride;
  device.own(event);
  take(parts, event);
  device.state = 1;
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 1U);
  EXPECT_EQ(parts.layout.written()[0].values, (std::vector<float>{1, 3, 5}));
  parts.sink.stop();
}

// A weight that three ops read before its first copy came.
TEST(LateLook, FetchesAContentOnceForAllThatAskWhileItIsUnderWay) {
  FakeParts parts(statistics());
  LateDevice device;
  FakeEvent event(parts.add("op"), std::vector<float>(10000, 3));
  for (const uint64_t version : {1, 1, 1, 2}) {
    device.own(event, version);
    take(parts, event);
  }
  EXPECT_EQ(device.queued, 3) << "the second use is the one of 64 that is checked";
  device.state = 1;
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 4U);
  for (const FakeLayout::Written& one : parts.layout.written()) EXPECT_EQ(one.row.stats.mean, 3.0);
  EXPECT_EQ(parts.look.not_looked_at(), 0U);
  EXPECT_EQ(parts.contents.mismatches(), Json(nullptr));
  parts.sink.stop();
}

TEST(LateLook, CountsWhatDoesNotComeAndWhatWaitedForIt) {
  FakeParts parts(statistics());
  LateDevice device;
  const OpId op = parts.add("op");
  FakeEvent event(op, std::vector<float>(10000, 3));
  for (int i = 0; i < 3; ++i) {
    device.own(event, 1);
    take(parts, event);
  }
  device.state = -1;
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 3U);
  for (const FakeLayout::Written& one : parts.layout.written()) {
    EXPECT_EQ(one.row.stats.count, 0U);
    EXPECT_NE(one.row.value_flags & kValueNotLookedAt, 0);
  }
  EXPECT_EQ(parts.look.not_looked_at(), 3U);
  EXPECT_TRUE(parts.look.has_news()) << "`find` must not clear it";
  EXPECT_EQ(device.dropped, device.queued);
  uint64_t missed = 0;
  const Json report = parts.devices.report();
  for (const Json& one : report[0]["not_captured"]) missed += one["count"].get<uint64_t>();
  EXPECT_EQ(missed, 3U);
  parts.sink.stop();
}

TEST(LateLook, ADeviceThatStandsStillStopsNeitherTheProgramNorItsEnd) {
  FakeParts parts(statistics(DeviceStats::kHost));
  LateDevice device;
  const OpId op = parts.add("op");
  const OpId of_host = parts.add("host");
  FakeEvent event(op, {1, 2});
  device.own(event);
  for (uint64_t i = 0; i < LateRoom::kMost + 10; ++i) take(parts, event);
  EXPECT_EQ(parts.look.not_looked_at(), 10U);
  const FakeEvent host(of_host, {7});
  for (size_t i = 0; i < 3 * RecordQueue::kMostWaiting; ++i) take(parts, host);
  EXPECT_EQ(parts.devices.report()[0]["not_captured"][0]["reason"], "device too far behind");
  EXPECT_EQ(parts.devices.report()[0]["waited"], 0);
  device.state = 1;
  parts.sink.flush();
  EXPECT_EQ(parts.layout.written().size(), LateRoom::kMost + 10 + 3 * RecordQueue::kMostWaiting);
  EXPECT_EQ(parts.look.not_looked_at(), 10U);
  EXPECT_EQ(parts.sink.writer().losses().total(), 0U);
  parts.sink.stop();
}

TEST(LateLook, WaitsForRoomWhereTheWayIsAuto) {
  FakeParts parts(statistics());
  LateDevice device;
  FakeEvent event(parts.add("op"), {1, 2});
  device.own(event);
  for (uint64_t i = 0; i < LateRoom::kMost; ++i) take(parts, event);
  std::thread later([&device] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    device.state = 1;
  });
  take(parts, event);
  later.join();
  parts.sink.flush();
  EXPECT_EQ(parts.look.not_looked_at(), 0U);
  EXPECT_EQ(parts.layout.written().size(), LateRoom::kMost + 1);
  EXPECT_EQ(parts.devices.report()[0]["waited"], 1);
  parts.sink.stop();
}

TEST(LateLook, FetchesWhatCannotBeLateUnlessToldNotToWait) {
  for (const DeviceStats way : {DeviceStats::kAuto, DeviceStats::kHost, DeviceStats::kWait, DeviceStats::kOff}) {
    FakeParts parts(statistics(way));
    LateDevice device;
    device.answer = TENSORTAP_DEVICE_FETCH_ONLY;
    FakeEvent event(parts.add("op"), {1, 2});
    device.own(event);
    take(parts, event);
    parts.sink.flush();
    const bool fetches = way == DeviceStats::kAuto || way == DeviceStats::kWait;
    EXPECT_EQ(device.fetched, fetches ? 1 : 0);
    EXPECT_EQ(parts.look.not_looked_at(), fetches ? 0U : 1U);
    EXPECT_EQ(parts.layout.written().size(), 1U);
    parts.sink.stop();
  }
}

TEST(LateLook, CountsACopyThatTheDeviceRefuses) {
  FakeParts parts(statistics());
  LateDevice device;
  device.answer = TENSORTAP_DEVICE_FAILED;
  FakeEvent event(parts.add("op"), {1, 2});
  device.own(event);
  take(parts, event);
  parts.sink.flush();
  EXPECT_EQ(device.fetched, 0);
  EXPECT_EQ(parts.devices.report()[0]["not_captured"], Json::array({Json{{"reason", "broken"}, {"count", 1}}}));
  parts.sink.stop();
}

// Of 1 to 10000, in two parts.
std::vector<tensortap_measured> measured_parts() {
  tensortap_measured part{};
  part.elements = 5000;
  part.first_nonfinite = -1;
  part.min = 1;
  part.max = 5000;
  part.sum = 5000 * 2500.5;
  part.deviations = 5000.0 * (5000.0 * 5000 - 1) / 12;
  std::vector<tensortap_measured> parts(2, part);
  parts[1].min += 5000;
  parts[1].max += 5000;
  parts[1].sum += 5000.0 * 5000;
  return parts;
}

std::vector<float> up_to(int count) {
  std::vector<float> values;
  for (int i = 1; i <= count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

TEST(LateLook, TakesWhatTheDeviceMeasured) {
  FakeParts parts(statistics(DeviceStats::kOperators));
  LateDevice device;
  device.parts = measured_parts();
  FakeEvent event(parts.add("op"), up_to(10000));
  for (int i = 0; i < 3; ++i) {
    device.own(event, 1);
    take(parts, event);
  }
  device.state = 1;
  parts.sink.flush();
  device.own(event, 1);
  take(parts, event);
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 4U);
  for (const FakeLayout::Written& one : parts.layout.written()) {
    EXPECT_EQ(one.row.stats.mean, 5000.5);
    EXPECT_NEAR(one.row.stats.std, std::sqrt((1e8 - 1) / 12), 1e-9);
    EXPECT_EQ(one.row.stats.count, 10000U);
    EXPECT_EQ(one.row.stats.max, 10000);
  }
  EXPECT_EQ(device.queued, 1) << "one use of a known content in 64 is compared with a copy";
  EXPECT_EQ(parts.contents.mismatches(), Json(nullptr));
  const Json report = parts.devices.report();
  EXPECT_EQ(report[0]["measured"], 1);
  EXPECT_EQ(report[0]["launches"], 7);
  EXPECT_EQ(report[0]["bytes_fetched"], 40000 + 256);
  EXPECT_EQ(report[0]["waited"], 0);
  parts.sink.stop();
}

TEST(LateLook, AsksForAKernelAndSaysWhyNoneMeasured) {
  for (const uint64_t kernels : {0U, 1U}) {
    FakeParts parts(statistics(DeviceStats::kKernel));
    LateDevice device;
    device.parts = measured_parts();
    device.kernels = kernels;
    FakeEvent event(parts.add("op"), up_to(10000));
    device.own(event, 1);
    take(parts, event);
    device.state = 1;
    parts.sink.flush();
    EXPECT_NE(device.wanted & TENSORTAP_MEASURE_BY_KERNEL, 0U);
    const Json report = parts.devices.report();
    EXPECT_EQ(report[0]["kernels"], kernels);
    EXPECT_EQ(report[0]["no_kernel"], kernels == 1 ? Json::array() : Json::array({Json{{"reason", "of no use"}, {"count", 1}}}));
    parts.sink.stop();
  }
}

TEST(LateLook, NoticesADeviceThatMeasuresWrong) {
  FakeParts parts(statistics(DeviceStats::kOperators));
  LateDevice device;
  device.parts = measured_parts();
  device.parts[0].nan = 1;
  FakeEvent event(parts.add("op"), up_to(10000));
  device.state = 1;
  for (int i = 0; i < 3; ++i) {
    device.own(event, 1);
    take(parts, event);
    parts.sink.flush();
  }
  EXPECT_NE(parts.contents.mismatches(), Json(nullptr));
  parts.sink.stop();
}

TEST(LateLook, CopiesWhatTheDeviceCannotMeasure) {
  CaptureSpec head = statistics(DeviceStats::kOperators);
  head.sampling.head = 4;
  CaptureSpec full = FakeParts::spec();
  full.device_stats = DeviceStats::kOperators;
  for (const CaptureSpec& spec : {statistics(DeviceStats::kOperators), head, full}) {
    FakeParts parts(spec);
    LateDevice device;
    device.measuring = TENSORTAP_DEVICE_FETCH_ONLY;
    FakeEvent event(parts.add("op"), {1, 2, 6, 3, 3});
    device.own(event);
    take(parts, event);
    device.state = 1;
    parts.sink.flush();
    ASSERT_EQ(parts.layout.written().size(), 1U);
    EXPECT_EQ(parts.layout.written()[0].row.stats.mean, 3.0);
    EXPECT_EQ(device.queued, 1);
    const bool was_asked = spec.sampling.head == 0 && spec.payload == Payload::kStatistics;
    EXPECT_EQ(parts.devices.report()[0]["not_measured"],
              was_asked ? Json::array({Json{{"reason", "of no use"}, {"count", 1}}}) : Json::array());
    parts.sink.stop();
  }
}

TEST(LateLook, CountsStatisticsThatDoNotCome) {
  FakeParts parts(statistics(DeviceStats::kOperators));
  LateDevice device;
  device.parts = measured_parts();
  FakeEvent event(parts.add("op"), up_to(10000));
  device.own(event);
  take(parts, event);
  device.measuring = TENSORTAP_DEVICE_NO_ROOM;
  take(parts, event);
  device.state = -1;
  parts.sink.flush();
  EXPECT_EQ(parts.look.not_looked_at(), 2U);
  EXPECT_EQ(parts.devices.report()[0]["not_captured"].size(), 2U);
  EXPECT_EQ(device.queued, 0);
  parts.sink.stop();
}

TEST(LateLook, TriggersGetTheirAnswerAtOnce) {
  CaptureSpec spec = statistics();
  spec.trigger = Trigger::kOverflow;
  FakeParts parts(spec);
  LateDevice device;
  FakeEvent event(parts.add("op"), {1, 2});
  device.own(event);
  TakenEvent taken = take(parts, event);
  EXPECT_EQ(device.fetched, 1);
  EXPECT_EQ(device.queued, 0);
  taken.held.clear();
}

// Live control may replace the plan twice before a copy comes: the place of the first one is taken then.
TEST(LateLook, KeepsThePlanUnderWhichItBegan) {
  FakeParts parts(statistics());
  LateDevice device;
  FakeEvent event(parts.add("op"), {1, 2, 6});
  device.own(event);
  take(parts, event);
  CaptureSpec other = statistics();
  other.payload = Payload::kDescription;
  for (int i = 0; i < 2; ++i) {
    auto plan = std::make_unique<const ActivePlan>(*CapturePlan::compile(other), parts.layout.parts(), true, parts.ops.next_number());
    ASSERT_TRUE(parts.ops.replace(std::move(plan), parts.admission.steps()).ok());
    const int64_t step = i;
    parts.admission.begin_step(step, 0, 0, 0);
    parts.admission.end_step(step, 0, 0);
  }
  device.state = 1;
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 1U);
  EXPECT_EQ(parts.layout.written()[0].row.stats.mean, 3.0);
  parts.sink.stop();
}

// The output lies on the host, and comes before the input.
TEST(LateLook, AnInfinityThatAnOpReadIsNoNewsOfItsOutput) {
  for (const bool reads_infinity : {true, false}) {
    CaptureSpec spec = statistics();
    spec.inputs = true;
    FakeParts parts(spec);
    LateDevice device;
    const OpId op = parts.add("op", {{"x", kNoOp, 0}});
    FakeEvent read(op, {reads_infinity ? kInfinity : 1.0F});
    device.own(read);
    read.tensor.slot_kind = TENSORTAP_SLOT_INPUT;
    read.event.flags = TENSORTAP_EVENT_READ_FIRST;
    const FakeEvent made(op, {kInfinity});
    const TakenEvent first = take(parts, read);
    TakenEvent second = parts.taken(made.event);
    second.execution.late_infinity = first.execution.late_infinity;
    ASSERT_NE(second.execution.late_infinity, nullptr);
    parts.look.take_all(second);
    EXPECT_FALSE(parts.look.first_nonfinite().met());
    device.state = 1;
    parts.sink.flush();
    EXPECT_EQ(parts.look.first_nonfinite().met(), !reads_infinity);
    parts.sink.stop();
  }
}

}  // namespace
}  // namespace tensortap
