// Sketches of a native dump: written, read, repaired, damaged.

#include "system/tap/sketches_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/temporary_folder.h"
#include "system/tap/repair.h"
#include "system/tap/tap_files.h"

namespace tensortap::tap {
namespace {

using testing::HasSubstr;

TensorSketch made_sketch(uint64_t number, size_t channels) {
  TensorSketch sketch;
  sketch.axis = channels > 0 ? static_cast<int32_t>(number % 3) : -1;
  sketch.block = 32;
  sketch.channel_elements = number;
  for (size_t i = 0; i < channels; ++i) {
    const auto value = static_cast<double>(number * 1000 + i);
    sketch.channels.push_back({value, value * value, i, number});
  }
  sketch.blocks.bins[number % BlockCounts::kBins] = number;
  sketch.blocks.underflow[2] = number + 1;
  return sketch;
}

// Records whose numbers decrease, and so are not rows of the file.
uint64_t sequence_of(uint64_t number) { return 100 - number; }
size_t channels_of(uint64_t number) { return number % 4 * 7; }

void write_sketches(const std::string& folder, uint64_t count, bool finish, const CaptureSpec& spec = {}) {
  DumpInfo info;
  info.folder = folder;
  const auto writer = create_dump(info, spec);
  ASSERT_TRUE(writer.ok());
  OpInfo op;
  op.name = "conv";
  ASSERT_TRUE((*writer)->add_op(0, op).ok());
  for (uint64_t i = 0; i < count; ++i) {
    RecordRow row;
    row.op = 0;
    row.sequence = sequence_of(i);
    row.set_desc({DType::kFloat32, Shape{3}});
    row.sketch = static_cast<uint8_t>(i == 2 ? SketchState::kNoAxis : SketchState::kThere);
    ASSERT_TRUE((*writer)->parts().sketches->add_sketch(row, made_sketch(i, channels_of(i))).ok());
    ASSERT_TRUE((*writer)->add_record(row, nullptr, nullptr).ok());
  }
  if (finish) {
    ASSERT_TRUE((*writer)->finish("{}\n").ok());
  }
}

void expect_sketches(const std::string& folder, uint64_t count) {
  const auto dump = open_dump_folder(folder);
  ASSERT_TRUE(dump.ok());
  ASSERT_EQ((*dump)->rows().size(), count);
  for (uint64_t i = 0; i < count; ++i) {
    const Result<TensorSketch> sketch = (*dump)->sketch(i);
    ASSERT_TRUE(sketch.ok()) << sketch.status().message();
    EXPECT_EQ(*sketch, made_sketch(i, channels_of(i)));
  }
}

TEST(TapSketches, ComeBackByRecord) {
  const TemporaryFolder folder;
  write_sketches(folder.path(), 20, true);
  expect_sketches(folder.path(), 20);
  const auto dump = open_dump_folder(folder.path());
  EXPECT_EQ((*dump)->sketch(20).status().code(), StatusCode::kNotFound);
  const auto report = repair_dump(folder.path(), true);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->healthy) << testing::PrintToString(report->actions);
}

TEST(TapSketches, OfAProgramThatDiedAreReadAndMended) {
  const TemporaryFolder folder;
  write_sketches(folder.path(), 20, false);
  expect_sketches(folder.path(), 20);
  // A row that was begun.
  auto file = File::open(join_path(folder.path(), kSketchesFile), O_WRONLY);
  ASSERT_TRUE(file->write_at(kSketchesBegin + 20 * sizeof(SketchRow), std::as_bytes(std::span("begun"))).ok());
  const auto report = repair_dump(folder.path(), false);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->actions, testing::Contains(HasSubstr("sketches.npy: cut to its 20 complete rows")));
  EXPECT_THAT(report->actions, testing::Contains(HasSubstr("sketch_channels.npy: cut to its 210 complete rows")));
  expect_sketches(folder.path(), 20);
  EXPECT_TRUE(repair_dump(folder.path(), true)->actions.empty());
}

TEST(TapSketches, OfManyThreadsKeepTheirChannels) {
  const TemporaryFolder folder;
  DumpRoom room(0);
  const Folder held = *Folder::open(folder.path());
  SketchesFile file(held, Access::kPrivate, room);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&file, t] {
      for (uint64_t i = t; i < 200; i += 4) EXPECT_TRUE(file.add(i, made_sketch(i, channels_of(i))).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(file.flush().ok());
  const auto rows = MappedFile::open(join_path(folder.path(), kSketchesFile));
  const auto channels = MappedFile::open(join_path(folder.path(), kChannelsFile));
  const SketchIndex index(rows->bytes(), channels->bytes());
  for (uint64_t i = 0; i < 200; ++i) EXPECT_EQ(*index.find(i), made_sketch(i, channels_of(i)));
  EXPECT_EQ(index.find(200).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(file.bytes_written(), 200 * sizeof(SketchRow) + 50 * (0 + 7 + 14 + 21) * sizeof(ChannelSums));
}

TEST(TapSketches, WhatTheDumpHasNoRoomForLeavesNothing) {
  const TemporaryFolder folder;
  DumpRoom room(DumpRoom::kOfEveryDump + 2 * sizeof(SketchRow) + 4 * sizeof(ChannelSums));
  const Folder held = *Folder::open(folder.path());
  SketchesFile file(held, Access::kPrivate, room);
  ASSERT_TRUE(file.add(0, made_sketch(0, 0)).ok());
  EXPECT_TRUE(DumpRoom::is_no_room(file.add(1, made_sketch(1, 5))));
  ASSERT_TRUE(file.add(2, made_sketch(2, 4)).ok());
  ASSERT_TRUE(file.flush().ok());
  const auto rows = MappedFile::open(join_path(folder.path(), kSketchesFile));
  EXPECT_EQ(rows->bytes().size(), kSketchesBegin + 2 * sizeof(SketchRow));
}

TEST(TapSketches, DamagedRowsAreErrors) {
  const TemporaryFolder folder;
  write_sketches(folder.path(), 8, true);
  const std::string path = join_path(folder.path(), kSketchesFile);
  const auto change = [&](size_t member, uint64_t value, size_t size) {
    auto file = File::open(path, O_WRONLY);
    const uint64_t at = kSketchesBegin + 3 * sizeof(SketchRow) + member;
    ASSERT_TRUE(file->write_at(at, std::as_bytes(std::span(reinterpret_cast<const char*>(&value), size))).ok());
  };
  const auto code = [&](size_t row) {
    const auto dump = open_dump_folder(folder.path());
    return dump.ok() ? (*dump)->sketch(row).status().code() : StatusCode::kOk;
  };
  struct Change {
    size_t member;
    uint64_t value;
    size_t size;
  };
  const Change changes[] = {{offsetof(SketchRow, channels), UINT64_MAX, 8},
                            {offsetof(SketchRow, channels), kMostChannels + 1, 8},
                            {offsetof(SketchRow, first_channel), UINT64_MAX - 5, 8},
                            {offsetof(SketchRow, axis), 32, 4},
                            {offsetof(SketchRow, axis), 0xFFFFFFFF, 4},
                            {offsetof(SketchRow, block), 33, 4}};
  for (const Change& one : changes) {
    std::vector<std::byte> before(sizeof(SketchRow));
    {
      const auto map = MappedFile::open(path);
      std::memcpy(before.data(), map->bytes().data() + kSketchesBegin + 3 * sizeof(SketchRow), before.size());
    }
    change(one.member, one.value, one.size);
    EXPECT_EQ(code(3), StatusCode::kCorrupt) << one.member;
    EXPECT_EQ(code(2), StatusCode::kOk);
    auto file = File::open(path, O_WRONLY);
    ASSERT_TRUE(file->write_at(kSketchesBegin + 3 * sizeof(SketchRow), before).ok());
  }
  EXPECT_EQ(code(3), StatusCode::kOk);
  std::filesystem::resize_file(path, kSketchesBegin + 3 * sizeof(SketchRow) + 9);
  EXPECT_EQ(code(3), StatusCode::kNotFound);
  std::filesystem::resize_file(join_path(folder.path(), kChannelsFile), 100);
  EXPECT_EQ(code(1), StatusCode::kCorrupt);
  EXPECT_EQ(code(0), StatusCode::kOk) << "without channels";
  std::filesystem::remove(path);
  EXPECT_EQ(code(0), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tensortap::tap
