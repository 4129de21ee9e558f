// How a reader and repair handle native dumps that crashed, were cut short or have flipped bits, and how the writer handles a full disk.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "system/tap/records_file.h"
#include "system/tap/repair.h"
#include "system/tap/tap_files.h"

namespace tensortap::tap {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kRecords = 6;

RecordRow row_of(int64_t step, const Shape& shape) {
  RecordRow row;
  row.op = 0;
  row.step = step;
  row.set_desc({DType::kInt32, shape});
  return row;
}

std::vector<int32_t> values_of(int64_t step, uint64_t count) {
  std::vector<int32_t> values(count);
  std::iota(values.begin(), values.end(), static_cast<int32_t>(static_cast<uint32_t>(step) * 1000U % 1000000U));
  return values;
}

std::unique_ptr<LayoutWriter> create(const std::string& folder) {
  DumpInfo info;
  info.folder = folder;
  auto writer = create_dump(info, CaptureSpec());
  EXPECT_TRUE(writer.ok()) << writer.status().message();
  OpInfo op;
  op.name = "conv";
  op.type = "Conv";
  EXPECT_TRUE((*writer)->add_op(0, op).ok());
  return *std::move(writer);
}

Status add(LayoutWriter& writer, int64_t step, uint64_t count = 20) {
  const std::vector<int32_t> values = values_of(step, count);
  RecordRow row = row_of(step, {static_cast<int64_t>(count)});
  const TensorView view{row.desc(), values.data(), nullptr};
  const ExponentHistogram histogram;
  return writer.add_record(row, &view, &histogram);
}

void write_dump(const std::string& folder, bool finish) {
  const auto writer = create(folder);
  for (int step = 0; step < kRecords; ++step) ASSERT_TRUE(add(*writer, step).ok());
  if (finish) {
    ASSERT_TRUE(writer->finish("{}\n").ok());
  }
}

struct Found {
  int right = 0;
  int wrong = 0;  // values that came without an error and are not what was written
};

// Opens a dump and reads everything of it.
Found read_all(const std::string& folder) {
  const auto dump = open_dump_folder(folder);
  if (!dump.ok()) return {};
  Found found;
  for (size_t i = 0; i < (*dump)->rows().size(); ++i) {
    (void)op_of(**dump, (*dump)->rows()[i]);
    (void)(*dump)->histogram(i);
    const auto data = (*dump)->data(i);
    if (!data.ok()) continue;
    const RecordRow& row = (*dump)->rows()[i];
    const std::vector<int32_t> values = values_of(row.step, 20);
    const bool right = row.numel == 20 && std::memcmp(data->view.data, values.data(), 80) == 0;
    ++(right ? found.right : found.wrong);
  }
  return found;
}

int read_everything(const std::string& folder) { return read_all(folder).right; }

std::vector<std::string> names_in(const std::string& folder) {
  auto names = list_directory(folder);
  EXPECT_TRUE(names.ok());
  return *std::move(names);
}

std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const std::string& name : names_in(folder)) files[name] = *read_file(join_path(folder, name));
  return files;
}

void restore(const std::string& folder, const std::map<std::string, std::string>& files) {
  for (const std::string& name : names_in(folder)) std::filesystem::remove(join_path(folder, name));
  for (const auto& [name, text] : files) ASSERT_TRUE(write_file_atomically(join_path(folder, name), text).ok());
}

void expect_whole(const std::string& folder) {
  const auto dump = open_dump_folder(folder);
  ASSERT_TRUE(dump.ok());
  EXPECT_THAT((*dump)->problems(), IsEmpty());
  const auto report = repair_dump(folder, false);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->healthy) << testing::PrintToString(report->actions);
}

TEST(Crash, EveryCompleteRecordIsReadWithoutRepair) {
  const TemporaryFolder folder;
  write_dump(folder.path(), false);
  EXPECT_EQ(read_everything(folder.path()), kRecords);
}

TEST(Crash, RepairMakesItWholeAndASecondTimeTouchesNothing) {
  const TemporaryFolder folder;
  write_dump(folder.path(), false);
  const auto before = contents(folder.path());
  const auto dry = repair_dump(folder.path(), true);
  ASSERT_TRUE(dry.ok()) << dry.status().message();
  EXPECT_FALSE(dry->healthy);
  EXPECT_EQ(contents(folder.path()), before);
  const auto report = repair_dump(folder.path(), false);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->records_kept, uint64_t{kRecords});
  EXPECT_EQ(report->tensors_kept, uint64_t{kRecords});
  EXPECT_EQ(report->tensors_lost, 0U);
  EXPECT_EQ(report->actions, dry->actions);
  expect_whole(folder.path());
  EXPECT_EQ(read_everything(folder.path()), kRecords);
}

TEST(Crash, RowsThatWereNeverCompletedAreSkippedAndTakenOut) {
  const TemporaryFolder folder;
  write_dump(folder.path(), false);
  {
    auto file = File::open(join_path(folder.path(), kRecordsFile), O_WRONLY);
    const std::byte zero{0};
    ASSERT_TRUE(file->write_at(kRowsBegin + 2 * sizeof(RecordRow) + offsetof(RecordRow, committed), std::span(&zero, 1)).ok());
  }
  EXPECT_EQ(read_everything(folder.path()), kRecords - 1);
  const auto report = repair_dump(folder.path(), false);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->records_lost, 1U);
  EXPECT_EQ(report->records_kept, uint64_t{kRecords - 1});
  expect_whole(folder.path());
  EXPECT_EQ(read_everything(folder.path()), kRecords - 1);
}

TEST(Crash, ADumpThatIsStillWrittenIsNotTouched) {
  const TemporaryFolder folder;
  const auto writer = create(folder.path());
  ASSERT_TRUE(add(*writer, 0).ok());
  EXPECT_THAT(repair_dump(folder.path(), false).status().message(), HasSubstr("still being written"));
}

TEST(Healthy, IsNotTouched) {
  const TemporaryFolder folder;
  write_dump(folder.path(), true);
  const auto before = contents(folder.path());
  expect_whole(folder.path());
  EXPECT_EQ(contents(folder.path()), before);
}

// Cuts a file of a dump at many places and flips its bits: a reader never crashes and never returns a wrong value.
class Damage : public testing::TestWithParam<std::string_view> {
 protected:
  void check() {
    const auto [found, wrong] = read_all(folder_.path());
    // A flipped bit of a row may name another step; nothing else makes a value wrong.
    if (GetParam() != kRecordsFile) {
      EXPECT_EQ(wrong, 0);
      EXPECT_LE(found, kRecords);
    }
    const auto report = repair_dump(folder_.path(), false);
    if (!report.ok()) return;
    EXPECT_EQ(read_everything(folder_.path()), found) << "repair lost a tensor that could be read";
    const auto again = repair_dump(folder_.path(), true);
    ASSERT_TRUE(again.ok());
    EXPECT_THAT(again->actions, IsEmpty());
  }
  TemporaryFolder folder_;
};

TEST_P(Damage, CutAtManyPlaces) {
  for (const bool finished : {true, false}) {
    restore(folder_.path(), {});
    write_dump(folder_.path(), finished);
    const auto files = contents(folder_.path());
    const auto file = files.find(std::string(GetParam()));
    if (file == files.end()) continue;
    const size_t size = std::min<size_t>(file->second.size(), 10000);
    for (size_t cut = 0; cut < size; cut += 1 + size / 150) {
      auto damaged = files;
      damaged[file->first].resize(cut);
      restore(folder_.path(), damaged);
      SCOPED_TRACE(cut);
      check();
    }
  }
}

TEST_P(Damage, FlippedBits) {
  write_dump(folder_.path(), true);
  const auto files = contents(folder_.path());
  const std::string& content = files.at(std::string(GetParam()));
  for (size_t bit = 0; bit < content.size() * 8; bit += 1 + content.size() * 8 / 997) {
    auto damaged = files;
    char& byte = damaged[std::string(GetParam())][bit / 8];
    byte = static_cast<char>(byte ^ 1 << bit % 8);
    restore(folder_.path(), damaged);
    SCOPED_TRACE(bit);
    check();
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Damage, testing::Values(kRunFile, kOpsFile, kRecordsFile, kTensorsFile, kHistogramsFile),
                         [](const auto& file) { return std::string(file.param.substr(0, file.param.find('.'))); });

TEST(Damaged, TensorBytesAreFoundByTheirChecksum) {
  const TemporaryFolder folder;
  write_dump(folder.path(), true);
  uint64_t offset = 0;
  {
    const auto dump = open_dump_folder(folder.path());
    offset = (*dump)->rows()[3].data_offset;
  }
  auto files = contents(folder.path());
  files[std::string(kTensorsFile)][offset + 5] ^= 1;
  restore(folder.path(), files);
  {
    const auto dump = open_dump_folder(folder.path());
    EXPECT_EQ((*dump)->data(3).status().code(), StatusCode::kCorrupt);
    EXPECT_TRUE((*dump)->data(2).ok());
  }
  const auto report = repair_dump(folder.path(), false);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->lost, testing::ElementsAre("conv:out0@3"));
  expect_whole(folder.path());
  const auto dump = open_dump_folder(folder.path());
  ASSERT_EQ((*dump)->rows().size(), size_t{kRecords});
  EXPECT_THAT((*dump)->data(3).status().message(), HasSubstr("lost"));
}

// The largest size that this process may give a file, for one scope: writes beyond it fail as they do on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    (void)signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  sighandler_t handler_;
};

TEST(FullDisk, LeavesNothingOfTheFailedRecordAndGoesOnAfterwards) {
  const TemporaryFolder folder;
  {
    const auto writer = create(folder.path());
    ASSERT_TRUE(add(*writer, 0).ok());
    {
      const FileSizeLimit limit(2 << 20);
      EXPECT_FALSE(add(*writer, 1, 1000000).ok());
      EXPECT_TRUE(add(*writer, 2).ok()) << "small records still fit";
    }
    ASSERT_TRUE(add(*writer, 3).ok());
    ASSERT_TRUE(writer->finish("{}").ok());
  }
  expect_whole(folder.path());
  EXPECT_EQ(read_everything(folder.path()), 3);
}

TEST(FullDisk, NoRoomForRowsIsAnErrorAndLeavesNoGap) {
  const TemporaryFolder folder;
  uint64_t failed = 0;
  {
    const auto writer = create(folder.path());
    const FileSizeLimit limit(uint64_t{3} << 20);
    for (int step = 0; step < 8000; ++step) {
      RecordRow row = row_of(step, {1});
      if (!writer->add_record(row, nullptr, nullptr).ok()) ++failed;
    }
    ASSERT_TRUE(writer->finish("{}").ok());
  }
  EXPECT_GT(failed, 0U);
  expect_whole(folder.path());
  const auto dump = open_dump_folder(folder.path());
  EXPECT_EQ((*dump)->rows().size(), 8000 - failed);
}

// The header of records.npy as versions before the columns "storage", "version" and "view" wrote it.
std::string former_header(uint64_t rows, const std::string& former) {
  std::string header = make_records_header(rows);
  const std::string_view now =
      "('storage', '<u8'), ('version', '<u8'), ('view', '<u8'), ('position', '<u4'), ('strides', '<i4', (16,)), "
      "('strided', '|u1'), ('element_order', '|u1'), ('sketch', '|u1'), ('value_flags', '|u1')";
  const size_t at = header.find(now);
  EXPECT_NE(at, std::string::npos);
  header.replace(at, now.size(), former);
  if (former.size() <= now.size()) {
    header.insert(header.size() - 1, now.size() - former.size(), ' ');
  } else {
    header.erase(header.size() - 1 - (former.size() - now.size()), former.size() - now.size());
  }
  return header;
}

TEST(TapDamage, DumpsOfVersionsBeforeHaveColumnsThatAreZero) {
  for (const char* former : {"('spare', '|u1', (96,))", "('storage', '<u8'), ('version', '<u8'), ('spare', '|u1', (80,))",
                             "('storage', '<u8'), ('version', '<u8'), ('view', '<u8'), ('spare', '|u1', (72,))",
                             "('storage', '<u8'), ('version', '<u8'), ('view', '<u8'), ('position', '<u4'), ('spare', '|u1', (68,))",
                             "('storage', '<u8'), ('version', '<u8'), ('view', '<u8'), ('position', '<u4'), ('strides', '<i4', (16,)), "
                             "('strided', '|u1'), ('element_order', '|u1'), ('spare', '|u1', (2,))",
                             "('storage', '<u8'), ('version', '<u8'), ('view', '<u8'), ('position', '<u4'), ('strides', '<i4', (16,)), "
                             "('strided', '|u1'), ('element_order', '|u1'), ('sketch', '|u1'), ('spare', '|u1')"}) {
    const TemporaryFolder folder;
    write_dump(folder.path(), true);
    // Their manifests did not describe the files.
    ASSERT_TRUE(write_file_atomically(join_path(folder.path(), kRunFile), "{}").ok());
    {
      auto file = File::open(join_path(folder.path(), kRecordsFile), O_WRONLY);
      ASSERT_TRUE(file.ok());
      const std::string header = former_header(kRecords, former);
      ASSERT_EQ(header.size(), kRowsBegin);
      ASSERT_TRUE(file->write_at(0, std::as_bytes(std::span(header))).ok());
    }
    const auto dump = open_dump_folder(folder.path());
    ASSERT_TRUE(dump.ok()) << dump.status().message();
    EXPECT_THAT((*dump)->problems(), testing::IsEmpty());
    ASSERT_EQ((*dump)->rows().size(), static_cast<size_t>(kRecords));
    EXPECT_TRUE((*dump)->data(1).ok());
    EXPECT_EQ((*dump)->rows()[1].storage, 0U);
    EXPECT_EQ((*dump)->rows()[1].view, 0U);
    EXPECT_TRUE((*dump)->rows()[1].strides_of().empty());
    EXPECT_EQ((*dump)->rows()[1].sketch, 0);
    EXPECT_EQ((*dump)->rows()[1].value_flags, 0);
    const auto report = repair_dump(folder.path(), true);
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->healthy) << testing::PrintToString(report->actions);
  }
}

// Writes a header in which `from` is `to`.
void change_header(const std::string& folder, std::string_view from, std::string_view to) {
  std::string header = make_records_header(kRecords);
  const size_t at = header.find(from);
  ASSERT_NE(at, std::string::npos);
  header.replace(at, from.size(), to);
  header.resize(kRowsBegin, ' ');
  auto file = File::open(join_path(folder, kRecordsFile), O_WRONLY);
  ASSERT_TRUE(file->write_at(0, std::as_bytes(std::span(header))).ok());
}

TEST(TapDamage, ColumnsOfAnotherTypeAreRefused) {
  const TemporaryFolder folder;
  write_dump(folder.path(), true);
  for (const auto& [from, to, says] :
       {std::tuple("'storage', '<u8'", "'storage', '<i8'", "the column \"storage\" has the type <i8, not <u8"),
        std::tuple("'committed', '|u1'), (", "'spare', '|u1'), (", "lacks the column \"committed\"")}) {
    change_header(folder.path(), from, to);
    EXPECT_THAT(open_dump_folder(folder.path()).status().message(), testing::HasSubstr(says));
  }
}

TEST(TapDamage, ColumnsOfImpossibleSizesAreRefused) {
  const TemporaryFolder folder;
  write_dump(folder.path(), true);
  // The first would place the columns behind it in front of the row, the second makes rows of no bytes.
  for (const char* column : {"'x', '|V18446744073709551104'", "'x', '<u8', (2305843009213693879,)", "'x', '|V9999999999999999999999'",
                             "'x', '|V-8'", "'x', '<q8'", "'x', '|V70000'"}) {
    change_header(folder.path(), "('sequence', '<u8')", concat("(", column, "), ('sequence', '<u8')"));
    const Status status = open_dump_folder(folder.path()).status();
    EXPECT_FALSE(status.ok()) << column;
    EXPECT_THAT(status.message(), testing::HasSubstr("the column \"x\"")) << column;
  }
  // Texts have four bytes a character.
  change_header(folder.path(), "'max', '<f8'", "'maX', '<U2'");
  const auto dump = open_dump_folder(folder.path());
  ASSERT_TRUE(dump.ok()) << dump.status().message();
  EXPECT_EQ((*dump)->rows().size(), static_cast<size_t>(kRecords));
  EXPECT_TRUE((*dump)->data(1).ok()) << "the columns behind it are where they were";
}

TEST(TapDamage, ColumnsOfALaterVersionAreLeftAlone) {
  const TemporaryFolder folder;
  write_dump(folder.path(), true);
  // The second column of statistics means something else, and so does the block of memory.
  change_header(folder.path(), "'max', '<f8'", "'maX', '<f8'");
  {
    const auto dump = open_dump_folder(folder.path());
    ASSERT_TRUE(dump.ok()) << dump.status().message();
    EXPECT_EQ((*dump)->unknown_columns(), std::vector<std::string>{"maX"});
    EXPECT_THAT((*dump)->problems(), testing::IsEmpty());
    ASSERT_EQ((*dump)->rows().size(), static_cast<size_t>(kRecords));
    for (const RecordRow& row : (*dump)->rows()) EXPECT_EQ(row.stats.valid & kStatMax, 0U) << "not measured";
    EXPECT_TRUE((*dump)->data(1).ok());
    const auto report = repair_dump(folder.path(), true);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_THAT(report->actions, testing::IsEmpty());
  }
  change_header(folder.path(), "'storage', '<u8'", "'storagE', '<u8'");
  EXPECT_EQ((*open_dump_folder(folder.path()))->rows()[1].storage, 0U);
  // What repair would rewrite, it could not write whole.
  std::filesystem::resize_file(join_path(folder.path(), kRecordsFile), kRowsBegin + 2 * sizeof(RecordRow) + 5);
  EXPECT_THAT(repair_dump(folder.path(), false).status().message(), testing::HasSubstr("storagE"));
}

TEST(TapDamage, RecordsThatShareAMemberAreWholeOrLostTogether) {
  const TemporaryFolder folder;
  uint64_t offset = 0;
  {
    const auto writer = create(folder.path());
    const std::vector<int32_t> values = values_of(0, 20);
    RecordRow row = row_of(0, {20});
    const TensorView view{row.desc(), values.data(), nullptr};
    ASSERT_TRUE(writer->add_record(row, &view, nullptr).ok());
    RecordRow again = row_of(1, {4, 5});
    DataPlace::of(row).put_into(again);
    ASSERT_TRUE(writer->parts().shared_data->add_reference(again, nullptr).ok());
    offset = row.data_offset;
    ASSERT_TRUE(writer->finish("{}\n").ok());
  }
  const auto dump = open_dump_folder(folder.path());
  const auto data = (*dump)->data(1);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(data->view.desc.shape, Shape({4, 5}));
  EXPECT_TRUE(repair_dump(folder.path(), true)->healthy);
  {
    auto file = File::open(join_path(folder.path(), kTensorsFile), O_WRONLY);
    const std::array<std::byte, 1> wrong = {std::byte{0x5a}};
    ASSERT_TRUE(file->write_at(offset + 1, wrong).ok());
  }
  const auto report = repair_dump(folder.path(), false);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->tensors_lost, 2U);
  EXPECT_EQ(report->tensors_kept, 0U);
}

}  // namespace
}  // namespace tensortap::tap
