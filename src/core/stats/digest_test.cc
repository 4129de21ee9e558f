#include "stats/digest.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace tensortap {
namespace {

TensorView text_view(const std::string& text) { return {{DType::kUInt8, Shape{static_cast<int64_t>(text.size())}}, text.data(), nullptr}; }

// Expected: `printf abc | xxhsum -H2`, md5sum, sha1sum.
TEST(Digest, EqualsTheToolsOfTheSystem) {
  EXPECT_EQ(digest_text(compute_digest(text_view("abc"), DigestKind::kXxh3)), "xxh3:06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(digest_text(compute_digest(text_view("abc"), DigestKind::kMd5)), "md5:900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(digest_text(compute_digest(text_view("abc"), DigestKind::kSha1)), "sha1:a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(digest_text(compute_digest(text_view(""), DigestKind::kXxh3)), "xxh3:99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(digest_text(compute_digest(text_view(""), DigestKind::kMd5)), "md5:d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(digest_text(compute_digest(text_view("abc"), DigestKind::kNone)), "");
}

TEST(Digest, OfAStridedViewIsThatOfItsElementsInOrder) {
  std::vector<float> data(20000);
  std::iota(data.begin(), data.end(), 0.0F);
  std::vector<float> transposed;
  for (int column = 0; column < 200; ++column) {
    for (int row = 0; row < 100; ++row) transposed.push_back(data[static_cast<size_t>(row * 200 + column)]);
  }
  const int64_t strides[] = {1, 200};
  const TensorView strided{{DType::kFloat32, Shape{200, 100}}, data.data(), strides};
  const TensorView packed{{DType::kFloat32, Shape{200, 100}}, transposed.data(), nullptr};
  for (const DigestKind kind : {DigestKind::kXxh3, DigestKind::kMd5, DigestKind::kSha1}) {
    EXPECT_EQ(digest_text(compute_digest(strided, kind)), digest_text(compute_digest(packed, kind)));
  }
}

TEST(Digest, StringsCountWithTheirLengths) {
  const std::vector<StringElement> joined = {{"abc", 3}, {"", 0}};
  const std::vector<StringElement> apart = {{"ab", 2}, {"c", 1}};
  const TensorView a{{DType::kString, Shape{2}}, joined.data(), nullptr};
  const TensorView b{{DType::kString, Shape{2}}, apart.data(), nullptr};
  EXPECT_NE(digest_text(compute_digest(a, DigestKind::kXxh3)), digest_text(compute_digest(b, DigestKind::kXxh3)));
  // printf '\3\0\0\0\0\0\0\0abc\0\0\0\0\0\0\0\0' | md5sum
  EXPECT_EQ(digest_text(compute_digest(a, DigestKind::kMd5)), "md5:373dda4316abc26b19473ab7d18bd43e");
}

TEST(Digest, NamesAreReadBack) {
  EXPECT_EQ(digest_from_name("xxh3"), DigestKind::kXxh3);
  EXPECT_EQ(digest_from_name("md5"), DigestKind::kMd5);
  EXPECT_EQ(digest_from_name("sha1"), DigestKind::kSha1);
  EXPECT_EQ(digest_from_name("none"), DigestKind::kNone);
  EXPECT_EQ(digest_from_name("crc"), std::nullopt);
  EXPECT_EQ(digest_size(DigestKind::kSha1), 20);
  EXPECT_EQ(digest_size(static_cast<DigestKind>(77)), 0);
}

}  // namespace
}  // namespace tensortap
