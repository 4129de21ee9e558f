// Headers of tensor files: those that the real system writes, those that nothing else reads, and damaged ones.

#include "tree/npy_mapped.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/temporary_folder.h"
#include "base/text.h"

namespace tensortap {
namespace {

// A whole header with `dictionary` in it, padded as the real system pads.
std::string header_of(std::string_view dictionary) {
  std::string text(dictionary);
  text.append(64 - (10 + text.size() + 1) % 64, ' ');
  text += '\n';
  return concat(std::string("\x93NUMPY\x01\x00", 8), static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8), text);
}

std::string dictionary(std::string_view descr, std::string_view shape) {
  return concat("{'descr': '", descr, "', 'fortran_order': False, 'shape': ", shape, ", }");
}

Result<NpyHead> parse(const std::string& head, uint64_t data_bytes) {
  return parse_npy_head(std::as_bytes(std::span(head)), head.size() + data_bytes);
}

TEST(NpyHeads, OfTheRealWriterAreRead) {
  const auto text = read_file(concat(TENSORTAP_TESTDATA, "/golden/mindspore/npy/headers.jsonl"));
  ASSERT_TRUE(text.ok());
  size_t read = 0;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty()) continue;
    const Json golden = Json::parse(line);
    if (!golden.contains("header") || golden["version"][0] != 1) continue;
    const std::vector<int64_t> shape = golden["shape"];
    const uint64_t data_bytes = golden["data_bytes"];
    const auto head = parse(header_of(golden["header"].get<std::string>()), data_bytes);
    if (shape.size() > kMaxRank) {
      EXPECT_EQ(head.status().code(), StatusCode::kUnsupported) << line;
      continue;
    }
    ASSERT_TRUE(head.ok()) << line << head.status().message();
    EXPECT_EQ(dtype_name(head->desc.dtype), golden["dtype"].get<std::string>()) << line;
    const bool known = std::ranges::all_of(shape, [](int64_t dimension) { return dimension >= 0; });
    EXPECT_EQ(head->desc.shape == Shape(shape), known) << line;
    EXPECT_EQ(head->data_begin, golden["header_bytes"].get<uint64_t>());
    ++read;
  }
  EXPECT_GT(read, 20U);
}

TEST(NpyHeads, RawBFloat16IsRead) {
  const auto head = parse(header_of(dictionary("<E2", "(2,3,)")), 12);
  ASSERT_TRUE(head.ok()) << head.status().message();
  EXPECT_EQ(head->desc.dtype, DType::kBFloat16);
  EXPECT_EQ(head->data_bytes, 12U);
  EXPECT_TRUE(head->plain);
}

TEST(NpyHeads, AnUnknownDimensionFollowsFromTheSize) {
  const auto head = parse(header_of(dictionary("<i4", "(-1,)")), 20);
  ASSERT_TRUE(head.ok()) << head.status().message();
  EXPECT_EQ(head->desc.shape, Shape({5}));
  const auto middle = parse(header_of(dictionary("<f2", "(2,-15,3,)")), 48);
  ASSERT_TRUE(middle.ok()) << middle.status().message();
  EXPECT_EQ(middle->desc.shape, Shape({2, 4, 3}));
  EXPECT_FALSE(middle->short_of);
}

TEST(NpyHeads, UnknownDimensionsThatDoNotFollowAreRefused) {
  EXPECT_EQ(parse(header_of(dictionary("<i4", "(-1,-1,)")), 20).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(parse(header_of(dictionary("<i4", "(-1,3,)")), 20).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(parse(header_of(dictionary("<i4", "(-1,0,)")), 20).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(parse(header_of(dictionary("<i4", "(-1,)")), 21).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(parse(header_of(dictionary("<i4", "(-,)")), 0).status().code(), StatusCode::kCorrupt);
}

TEST(NpyHeads, SayWhetherTheFileIsTooShortOrTooLong) {
  const std::string head = header_of(dictionary("<f4", "(2,3,)"));
  EXPECT_TRUE(parse(head, 23)->short_of);
  EXPECT_FALSE(parse(head, 24)->short_of);
  EXPECT_FALSE(parse(head, 24)->left_over);
  EXPECT_TRUE(parse(head, 25)->left_over);
}

TEST(NpyHeads, WrongOnesAreRefused) {
  for (const std::string_view text :
       {"{'descr': '<f4', 'fortran_order': False}", "{'descr': 'O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<U3', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,), }", "(",
        ""}) {
    EXPECT_FALSE(parse(header_of(text), 4).ok()) << text;
  }
}

class NpyFiles : public testing::Test {
 protected:
  std::string write(const std::string& content) {
    const std::string path = join_path(folder_.path(), "tensor.npy");
    EXPECT_TRUE(write_file_atomically(path, content).ok());
    return path;
  }
  TemporaryFolder folder_;
};

TEST_F(NpyFiles, AreMappedWhereTheyLie) {
  const std::string path = write(header_of(dictionary("<i2", "(2,-1,)")) + std::string("\1\0\2\0\3\0\4\0", 8));
  const auto data = map_npy(path, {DType::kInt16, {2, 2}});
  ASSERT_TRUE(data.ok()) << data.status().message();
  const int16_t wanted[] = {1, 2, 3, 4};
  EXPECT_EQ(std::memcmp(data->view.data, wanted, sizeof(wanted)), 0);
}

TEST_F(NpyFiles, OfOtherByteOrderAreDecoded) {
  const std::string path = write(header_of(dictionary(">i2", "(2,)")) + std::string("\0\1\0\2", 4));
  const auto data = map_npy(path, {DType::kInt16, {2}});
  ASSERT_TRUE(data.ok()) << data.status().message();
  const int16_t wanted[] = {1, 2};
  EXPECT_EQ(std::memcmp(data->view.data, wanted, sizeof(wanted)), 0);
}

TEST_F(NpyFiles, ThatChangedSinceAreRefused) {
  const std::string path = write(header_of(dictionary("<i2", "(2,)")) + std::string(4, '\1'));
  EXPECT_EQ(map_npy(path, {DType::kInt16, {3}}).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(map_npy(path, {DType::kFloat16, {2}}).status().code(), StatusCode::kCorrupt);
  EXPECT_TRUE(map_npy(path, {DType::kInt16, {2}}).ok());
}

RC_GTEST_PROP(NpyHeads, OfAnyBytesAreReadOrRefused, (std::vector<uint8_t> bytes, uint16_t where, uint32_t size)) {
  std::string head = header_of(dictionary("<f4", "(2,-3,)"));
  const std::string text(bytes.begin(), bytes.end());
  head.replace(where % head.size(), text.size(), text);
  const auto parsed = parse_npy_head(std::as_bytes(std::span(head)), head.size() + size % 4096);
  if (!parsed.ok()) return;
  RC_ASSERT(parsed->desc.shape.numel().has_value());
  RC_ASSERT(parsed->data_begin <= parsed->file_bytes);
  RC_ASSERT(parsed->short_of || parsed->data_begin + parsed->data_bytes <= parsed->file_bytes);
}

}  // namespace
}  // namespace tensortap
