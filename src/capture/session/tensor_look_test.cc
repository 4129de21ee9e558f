#include "session/tensor_look.h"

#include <gtest/gtest.h>
#include <tensortap/asking.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <vector>

#include "base/json.h"
#include "session/active_plan.h"
#include "session/fake_layout.h"

namespace tensortap {
namespace {

TEST(TensorLook, MeasuresAndHandsOnWhatIsWanted) {
  FakeParts parts(FakeParts::spec());
  const OpId op = parts.add("op");
  const FakeEvent event(op, {1, 2, 6});
  TakenEvent taken = parts.taken(event.event);
  parts.look.take_all(taken);
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 1U);
  EXPECT_EQ(parts.layout.written()[0].values, event.values);
  EXPECT_EQ(parts.layout.written()[0].row.stats.mean, 3.0);
  EXPECT_TRUE(parts.ops.find(op)->has(kOpCaptured));
  EXPECT_EQ(taken.tensors, 1U);
}

TEST(TensorLook, LeavesOutWhatTheConditionDoesNotMeet) {
  CaptureSpec spec = FakeParts::spec();
  spec.where = "nan > 0";
  FakeParts parts(spec);
  const OpId op = parts.add("op");
  const FakeEvent finite(op, {1});
  const FakeEvent broken(op, {std::numeric_limits<float>::quiet_NaN()});
  TakenEvent first = parts.taken(finite.event);
  TakenEvent second = parts.taken(broken.event);
  parts.look.take_all(first);
  parts.look.take_all(second);
  parts.sink.flush();
  EXPECT_EQ(parts.look.filtered(), 1U);
  ASSERT_EQ(parts.layout.written().size(), 1U);
  EXPECT_EQ(parts.layout.written()[0].row.stats.nan, 1U);
  EXPECT_TRUE(parts.look.first_nonfinite().met());
}

TEST(TensorLook, CountsAMalformedTensorAndLooksNoFurther) {
  FakeParts parts(FakeParts::spec());
  FakeEvent event(parts.add("op"), {1});
  event.tensor.dims = nullptr;
  TakenEvent taken = parts.taken(event.event);
  parts.look.take_all(taken);
  parts.sink.flush();
  EXPECT_TRUE(parts.layout.written().empty());
  EXPECT_EQ(parts.sink.writer().losses().count(loss::kMalformed), 1U);
}

TEST(TensorLook, CountsWhatLiesOnADeviceAsNotLookedAt) {
  FakeParts parts(FakeParts::spec());
  const OpId op = parts.add("op");
  FakeEvent event(op, {1, 2});
  event.tensor.data = nullptr;
  event.tensor.flags = TENSORTAP_TENSOR_ON_DEVICE;
  FakeEvent unwritten(op, {1, 2});
  unwritten.tensor.data = nullptr;
  unwritten.tensor.flags = TENSORTAP_TENSOR_ON_DEVICE | TENSORTAP_TENSOR_UNWRITTEN;
  for (FakeEvent* one : {&event, &unwritten}) {
    TakenEvent taken = parts.taken(one->event);
    parts.look.take_all(taken);
  }
  parts.sink.flush();
  EXPECT_EQ(parts.look.not_looked_at(), 1U);
  ASSERT_EQ(parts.layout.written().size(), 2U);
  EXPECT_EQ(parts.layout.written()[0].row.value_flags, kValueNotLookedAt);
  EXPECT_EQ(parts.layout.written()[1].row.value_flags, 0);
  EXPECT_TRUE(parts.look.has_news()) << "`find` has to report it";
}

// Memory that is read through a function alone.
struct FakeDevice {
  FakeDevice() {
    device.size = sizeof device;
    device.name = "fake";
    device.memory = this;
    device.fetch = [](const tensortap_device* given, const void* source, int* is_packed, const char** why) -> const void* {
      auto& self = *static_cast<FakeDevice*>(given->memory);
      ++self.fetched;
      *is_packed = self.packed ? 1 : 0;
      *why = self.reason;
      return self.reason == nullptr ? source : nullptr;
    };
    device.release = [](const tensortap_device* given, const void*) { ++static_cast<FakeDevice*>(given->memory)->released; };
  }
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;
  // The elements of the event are in the device's memory, and `address` is what they are known by.
  void take(FakeEvent& event, uint64_t version, uintptr_t address = 64) const {
    event.tensor.data = nullptr;
    event.tensor.device = &device;
    event.tensor.source = event.values.data();
    event.tensor.identity = reinterpret_cast<const void*>(address);
    event.tensor.flags = TENSORTAP_TENSOR_ON_DEVICE;
    event.tensor.storage = 1;
    event.tensor.version = version;
  }
  tensortap_device device{};
  int fetched = 0;
  int released = 0;
  bool packed = false;
  const char* reason = nullptr;
};

TEST(TensorLook, FetchesWhatLiesOnADeviceOnceForEachContent) {
  CaptureSpec spec = FakeParts::spec();
  spec.payload = Payload::kStatistics;
  FakeParts parts(spec);
  FakeDevice device;
  const OpId op = parts.add("op");
  // Large enough to be remembered.
  FakeEvent event(op, std::vector<float>(10000, 3));
  // The first use of a known content is checked.
  for (const uint64_t version : {1, 1, 1, 2}) {
    device.take(event, version);
    TakenEvent taken = parts.taken(event.event);
    parts.look.take_all(taken);
  }
  device.take(event, 2, 4096);
  TakenEvent other_place = parts.taken(event.event);
  parts.look.take_all(other_place);
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 5U);
  for (const FakeLayout::Written& one : parts.layout.written()) EXPECT_EQ(one.row.stats.mean, 3.0);
  EXPECT_EQ(device.fetched, 4);
  EXPECT_EQ(device.released, 4);
  EXPECT_EQ(parts.look.not_looked_at(), 0U);
  EXPECT_TRUE(parts.ops.find(op)->has(kOpCaptured));
  const Json report = parts.devices.report();
  EXPECT_EQ(report.at(0).at("device"), "fake:0");
  EXPECT_EQ(report.at(0).at("tensors"), 4);
  EXPECT_EQ(report.at(0).at("bytes_fetched"), 160000);
}

TEST(TensorLook, KeepsTheElementsOfAGatheredTensorAndItsStrides) {
  FakeParts parts(FakeParts::spec());
  FakeDevice device;
  device.packed = true;
  FakeEvent event(parts.add("op"), {1, 2, 6});
  const int64_t stride = 100;
  event.tensor.strides = &stride;
  device.take(event, 1);
  TakenEvent taken = parts.taken(event.event);
  parts.look.take_all(taken);
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 1U);
  EXPECT_EQ(parts.layout.written()[0].values, event.values);
  EXPECT_EQ(parts.layout.written()[0].row.strides[0], 100);
}

TEST(TensorLook, SaysWhyADeviceGaveNothing) {
  FakeParts parts(FakeParts::spec());
  FakeDevice device;
  device.reason = "it is recorded";
  const OpId op = parts.add("op");
  FakeEvent event(op, {1, 2});
  device.take(event, 1);
  TakenEvent taken = parts.taken(event.event);
  parts.look.take_all(taken);
  parts.sink.flush();
  EXPECT_EQ(parts.look.not_looked_at(), 1U);
  EXPECT_EQ(parts.ops.find(op)->reasons, std::vector<std::string>{"it is recorded"});
  EXPECT_EQ(parts.devices.report().at(0).at("not_captured").at(0).at("count"), 1);
  EXPECT_EQ(device.released, 0);
}

TEST(TensorLook, FetchesNothingThatIsNotAskedFor) {
  FakeDevice device;
  CaptureSpec described = FakeParts::spec();
  described.payload = Payload::kDescription;
  CaptureSpec off = FakeParts::spec();
  off.device_stats = DeviceStats::kOff;
  for (const CaptureSpec& spec : {described, off}) {
    FakeParts parts(spec);
    const OpId op = parts.add("op");
    FakeEvent event(op, {1, 2});
    device.take(event, 1);
    TakenEvent taken = parts.taken(event.event);
    parts.look.take_all(taken);
    event.tensor.flags |= TENSORTAP_TENSOR_UNWRITTEN;
    TakenEvent unwritten = parts.taken(event.event);
    parts.look.take_all(unwritten);
    const bool is_off = spec.device_stats == DeviceStats::kOff;
    EXPECT_EQ(parts.look.not_looked_at(), is_off ? 1U : 0U);
    EXPECT_EQ(parts.ops.find(op)->reasons.size(), is_off ? 1U : 0U);
  }
  EXPECT_EQ(device.fetched, 0);
}

TEST(DeviceReads, MakesAnEventOfTheHost) {
  FakeParts parts(FakeParts::spec());
  FakeDevice device;
  FakeEvent event(parts.add("op"), {1, 2});
  device.take(event, 1);
  EXPECT_TRUE(is_remote(event.event));
  std::vector<tensortap_tensor> tensors;
  const tensortap_op_event made = parts.devices.fetched(event.event, true, tensors);
  EXPECT_FALSE(is_remote(made));
  ASSERT_EQ(made.tensor_count, 1U);
  EXPECT_EQ(made.tensors[0].data, event.values.data());
}

TEST(TensorLook, HoldsRecordsForTheGateAndKeepsThoseOfTheRing) {
  CaptureSpec spec = FakeParts::spec();
  spec.trigger = Trigger::kOverflow;
  spec.limits.ring_ops = 4;
  FakeParts parts(spec);
  const FakeEvent event(parts.add("op"), {1, 2});
  TakenEvent taken = parts.taken(event.event);
  parts.look.take_all(taken);
  ASSERT_EQ(taken.held.size(), 1U);
  parts.last_ops.fire();
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 1U) << "of the ring alone";
  EXPECT_NE(parts.layout.written()[0].row.flags & kRecordFromRing, 0);
  taken.held.clear();
}

TEST(TensorLook, SketchesGoBeforeTheirRecordsWhichSayWhyThereIsNone) {
  CaptureSpec spec = FakeParts::spec();
  spec.sketch_axis = 0;
  FakeParts parts(spec);
  const FakeEvent whole(parts.add("whole"), {1, -2, 0});
  FakeEvent scalar(parts.add("scalar"), {5});
  scalar.tensor.rank = 0;
  FakeEvent described(parts.add("described"), {1});
  described.tensor.data = nullptr;
  for (const FakeEvent* event : {&whole, static_cast<const FakeEvent*>(&scalar), static_cast<const FakeEvent*>(&described)}) {
    TakenEvent taken = parts.taken(event->event);
    parts.look.take_all(taken);
  }
  parts.layout.sketch_answer = io_error("the disk is gone").with_system_error(EIO);
  TakenEvent lost = parts.taken(whole.event);
  parts.look.take_all(lost);
  parts.sink.flush();
  ASSERT_EQ(parts.layout.sketches.size(), 1U);
  ASSERT_EQ(parts.layout.sketches[0].channels.size(), 3U);
  EXPECT_EQ(parts.layout.sketches[0].channels[1], (ChannelSums{2, 4, 0, 0}));
  EXPECT_EQ(parts.layout.sketches[0].channels[2].zero, 1U);
  std::vector<uint8_t> states;
  for (const FakeLayout::Written& one : parts.layout.written()) states.push_back(one.row.sketch);
  std::ranges::sort(states);
  const auto number = [](SketchState state) { return static_cast<uint8_t>(state); };
  EXPECT_EQ(states, (std::vector<uint8_t>{number(SketchState::kThere), number(SketchState::kNoAxis), number(SketchState::kNoNumbers),
                                          number(SketchState::kNotWritten)}));
  EXPECT_EQ(parts.sink.writer().losses().count("write failed: Input/output error"), 1U);
}

TEST(TensorLook, SaysWhetherNoTensorHasTheAxis) {
  CaptureSpec spec = FakeParts::spec();
  spec.sketch_axis = 1;
  FakeParts parts(spec);
  EXPECT_FALSE(parts.look.found_no_channels()) << "no tensor came";
  const int64_t dims[] = {2, 1};
  for (const uint32_t rank : {1U, 2U}) {
    FakeEvent event(parts.add(rank == 1 ? "vector" : "matrix"), {1, 2});
    event.tensor.dims = dims;
    event.tensor.rank = rank;
    TakenEvent taken = parts.taken(event.event);
    parts.look.take_all(taken);
    EXPECT_EQ(parts.look.found_no_channels(), rank == 1);
  }
}

TEST(TensorLook, AContentThatWasMeasuredBeforeIsSketchedAgain) {
  CaptureSpec spec = FakeParts::spec();
  spec.sketch_block = 16;
  FakeParts parts(spec);
  FakeEvent event(parts.add("op"), std::vector<float>(10000, 3));
  event.tensor.storage = 7;
  for (int i = 0; i < 3; ++i) {
    TakenEvent taken = parts.taken(event.event);
    parts.look.take_all(taken);
  }
  ASSERT_EQ(parts.layout.sketches.size(), 3U);
  EXPECT_EQ(parts.layout.sketches[0].blocks.bins[151], 625U);
  EXPECT_EQ(parts.layout.sketches[2], parts.layout.sketches[0]);
}

TEST(ActivePlan, WatchesMemoryByDigestWhereNoElementsAreKept) {
  FakeLayout layout;
  CaptureSpec spec = FakeParts::spec();
  spec.trigger = Trigger::kWatch;
  spec.payload = Payload::kStatistics;
  const ActivePlan statistics(*CapturePlan::compile(spec), layout.parts(), true, 3);
  EXPECT_EQ(statistics.digest, DigestKind::kXxh3);
  EXPECT_EQ(statistics.generation, 3U);
  EXPECT_FALSE(statistics.shares_data) << "this layout takes no references";
  spec.payload = Payload::kTensor;
  EXPECT_EQ(ActivePlan(*CapturePlan::compile(spec), layout.parts(), true, 0).digest, DigestKind::kNone);
}

}  // namespace
}  // namespace tensortap
