#include "system/tap/tap_rows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "system/tap/records_file.h"

namespace tensortap::tap {
namespace {

// A records.npy that a program writes: rows with these marks, numbered from 0.
std::vector<std::byte> file_of(const std::vector<uint8_t>& marks) {
  const std::string header = make_records_header(0);
  std::vector<std::byte> bytes(header.size() + marks.size() * sizeof(RecordRow));
  std::memcpy(bytes.data(), header.data(), header.size());
  for (size_t i = 0; i < marks.size(); ++i) {
    RecordRow row;
    row.sequence = i;
    row.committed = marks[i];
    std::memcpy(bytes.data() + header.size() + i * sizeof(RecordRow), &row, sizeof(row));
  }
  return bytes;
}

std::vector<uint64_t> kept(const std::vector<uint8_t>& before, const std::vector<uint8_t>& now) {
  std::vector<std::byte> bytes = file_of(now);
  keep_complete(file_of(before), bytes);
  const Result<TapRows> rows = read_rows(bytes, false);
  std::vector<uint64_t> sequences;
  for (const RecordRow& row : rows->rows) sequences.push_back(row.sequence);
  return sequences;
}

using Numbers = std::vector<uint64_t>;

TEST(TapRows, ThatAProgramMayStillBeWritingAreNotThereYet) {
  EXPECT_EQ(kept({1, 1, 0, 0}, {1, 1, 1, 0}), (Numbers{0, 1}));
  EXPECT_EQ(kept({1, 1}, {1, 1, 1, 1}), (Numbers{0, 1})) << "the file has grown";
  EXPECT_EQ(kept({1, 0, 1}, {1, 1, 1}), (Numbers{0, 2}));
  EXPECT_EQ(kept({}, {1, 1}), Numbers());
}

TEST(TapRows, ThatWereCompleteStay) {
  EXPECT_EQ(kept({1, 1, 1}, {1, 1, 1}), (Numbers{0, 1, 2}));
  EXPECT_EQ(kept({1, 1, 1}, {1}), Numbers{0}) << "the file was cut";
}

TEST(TapRows, OfAFileWithoutAHeaderAreLeftAlone) {
  std::vector<std::byte> bytes(10'000, std::byte{1});
  const std::vector<std::byte> same = bytes;
  keep_complete({}, bytes);
  EXPECT_EQ(bytes, same);
}

}  // namespace
}  // namespace tensortap::tap
