// The conformance suite that every row of the table of formats has to pass.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "registry/registry.h"

namespace tensortap {
namespace {

class EveryFormat : public testing::TestWithParam<Format> {};

// Packed bytes with every bit pattern that a byte can hold; NaN payloads, -0 and subnormals are among them.
std::vector<uint8_t> patterns(uint64_t bytes, uint8_t seed) {
  std::vector<uint8_t> values(bytes);
  for (uint64_t i = 0; i < bytes; ++i) values[i] = static_cast<uint8_t>(seed + i * 151);
  return values;
}

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> kShapes = {
      Shape(), {0}, {1}, {7}, {2, 3, 5}, {3, 0, 2}, {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}};
  return kShapes;
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string encode_some(const Format& format) {
  const std::vector<uint8_t> values = patterns(24, 3);
  NamedTensor tensor;
  tensor.name = "a";
  tensor.view = {{DType::kFloat32, {2, 3}}, values.data(), nullptr};
  const auto file = format.encode(std::span(&tensor, 1));
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? *file : "";
}

// Every value has to be read without touching memory outside the file; the address sanitizer watches.
uint64_t touch(const std::vector<NamedTensor>& tensors) {
  uint64_t sum = 0;
  for (const NamedTensor& tensor : tensors) {
    const uint64_t numel = tensor.view.desc.shape.numel().value_or(0);
    const uint64_t size = packed_bytes(tensor.view.desc.dtype, numel).value_or(0);
    const auto* data = static_cast<const uint8_t*>(tensor.view.data);
    if (size > 0) sum += std::accumulate(data, data + size, uint64_t{0});
    if (tensor.view.desc.dtype != DType::kString) continue;
    const auto* strings = static_cast<const StringElement*>(tensor.view.data);
    for (uint64_t i = 0; i < numel; ++i) sum += std::accumulate(strings[i].data, strings[i].data + strings[i].size, uint64_t{0});
  }
  return sum;
}

TEST_P(EveryFormat, BringsBackEveryDtypeThatItHoldsBitForBit) {
  const Format& format = GetParam();
  if (format.encode == nullptr) GTEST_SKIP() << "read only";
  for (int number = 1; number < kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    for (const Shape& shape : shapes()) {
      if (shape.rank() == 0 && !format.keeps_scalars) continue;
      const uint64_t size = packed_bytes(dtype, *shape.numel()).value_or(0);
      const std::vector<uint8_t> values = patterns(size, static_cast<uint8_t>(number));
      NamedTensor tensor;
      tensor.view = {{dtype, shape}, values.data(), nullptr};
      const auto file = format.encode(std::span(&tensor, 1));
      if (!format.holds(dtype)) {
        EXPECT_EQ(file.status().code(), StatusCode::kUnsupported) << dtype_name(dtype);
        continue;
      }
      ASSERT_TRUE(file.ok()) << dtype_name(dtype) << shape.to_text() << file.status().message();
      EXPECT_TRUE(format.recognise(bytes_of(*file).first(std::min<size_t>(file->size(), 64))));
      const auto decoded = format.decode(bytes_of(*file));
      ASSERT_TRUE(decoded.ok()) << dtype_name(dtype) << shape.to_text() << decoded.status().message();
      ASSERT_EQ(decoded->size(), 1U);
      EXPECT_EQ((*decoded)[0].view.desc.dtype, dtype);
      EXPECT_EQ((*decoded)[0].view.desc.shape, shape);
      EXPECT_TRUE(size == 0 || std::memcmp((*decoded)[0].view.data, values.data(), size) == 0) << dtype_name(dtype);
    }
  }
}

TEST_P(EveryFormat, WritesStridedTensorsInLogicalOrder) {
  const Format& format = GetParam();
  if (format.encode == nullptr) GTEST_SKIP() << "read only";
  const std::vector<int32_t> values = {0, 1, 2, 3, 4, 5};
  const std::vector<int64_t> transposed = {1, 3};
  NamedTensor tensor;
  tensor.view = {{DType::kInt32, {3, 2}}, values.data(), transposed.data()};
  const auto file = format.encode(std::span(&tensor, 1));
  ASSERT_TRUE(file.ok());
  const auto decoded = format.decode(bytes_of(*file));
  ASSERT_TRUE(decoded.ok());
  const std::vector<int32_t> expected = {0, 3, 1, 4, 2, 5};
  EXPECT_EQ(std::memcmp((*decoded)[0].view.data, expected.data(), 24), 0);
}

TEST_P(EveryFormat, FilesCutAnywhereAreCorruptOrShorterButNeverCrash) {
  const Format& format = GetParam();
  if (format.encode == nullptr) GTEST_SKIP() << "read only";
  const std::string file = encode_some(format);
  for (size_t cut = 0; cut < file.size(); ++cut) {
    // An allocation of exactly this size, so that the sanitizer sees a read beyond it.
    const std::vector<std::byte> bytes(bytes_of(file).begin(), bytes_of(file).begin() + static_cast<ptrdiff_t>(cut));
    const auto decoded = format.decode(bytes);
    EXPECT_FALSE(decoded.ok()) << "cut at " << cut << " of " << file.size();
  }
}

TEST_P(EveryFormat, EveryFlippedBitGivesAResultOrAnError) {
  const Format& format = GetParam();
  if (format.encode == nullptr) GTEST_SKIP() << "read only";
  const std::string file = encode_some(format);
  uint64_t sum = 0;
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::vector<std::byte> bytes(bytes_of(file).begin(), bytes_of(file).end());
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const auto decoded = format.decode(bytes);
    if (decoded.ok()) sum += touch(*decoded);
  }
  EXPECT_GT(sum, 0U);
}

TEST_P(EveryFormat, RandomBytesAreNotTaken) {
  const Format& format = GetParam();
  for (uint8_t seed = 0; seed < 255; ++seed) {
    const std::vector<uint8_t> bytes = patterns(200, seed);
    const auto decoded = format.decode(std::as_bytes(std::span(bytes)));
    EXPECT_FALSE(decoded.ok());
  }
}

TEST_P(EveryFormat, HasADocument) {
  std::string name(GetParam().name);
  for (char& c : name) c = c == '-' ? '_' : c;
  EXPECT_TRUE(std::filesystem::exists(std::string(TENSORTAP_TESTDATA) + "/../docs/formats/" + name + ".md"));
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryFormat, testing::ValuesIn(formats().begin(), formats().end()), [](const auto& format) {
  std::string name(format.param.name);
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(Formats, HaveNamesOfTheirOwnAndAreFound) {
  std::set<std::string_view> names;
  for (const Format& format : formats()) {
    EXPECT_TRUE(names.insert(format.name).second);
    EXPECT_EQ(find_format(format.name), &format);
  }
  EXPECT_EQ(find_format("nothing"), nullptr);
}

TEST(Formats, NoFileIsTakenByTwo) {
  for (const Format& format : formats()) {
    if (format.encode == nullptr) continue;
    const std::string file = encode_some(format);
    const auto head = bytes_of(file).first(std::min<size_t>(file.size(), 64));
    EXPECT_EQ(std::ranges::count_if(formats(), [head](const Format& other) { return other.recognise(head); }), 1) << format.name;
  }
}

}  // namespace
}  // namespace tensortap
