#include "system/mindspore/tree/npy_tensor.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "base/json.h"
#include "base/temporary_folder.h"
#include "stats/digest.h"
#include "system/mindspore/tree/golden_lines.h"
#include "system/mindspore/tree/writer_folder.h"
#include "tensor/number_formats.h"

namespace tensortap::mindspore {
namespace {

std::string sha1(std::string_view bytes) {
  const TensorView view{{DType::kUInt8, Shape({static_cast<int64_t>(bytes.size())})}, bytes.data(), nullptr};
  const std::string text = digest_text(compute_digest(view, DigestKind::kSha1));
  return text.substr(text.find(':') + 1);
}

class NpyTensor : public testing::Test {
 protected:
  Status write(const std::string& name, const TensorView& view) {
    std::string stored;
    return files_->write(
        name, [&](int file, const std::string& path) { return writer_.write(file, path, view); }, stored);
  }
  std::string file(const std::string& name) {
    return read_file(join_path(folder_.path(), name)).ok() ? *read_file(join_path(folder_.path(), name)) : "";
  }
  TemporaryFolder folder_;
  std::shared_ptr<NamedFolder> files_ = *NamedFolder::create(folder_.path(), "", tree_rules(Access::kPrivate));
  NpyTensorWriter writer_;
};

TEST_F(NpyTensor, EveryGoldenHeaderByteForByte) {
  size_t files = 0;
  for (const Json& line : golden_lines("npy/headers.jsonl")) {
    const std::string dtype_text = line.at("dtype").get<std::string>();
    const auto dtype = dtype_from_name(dtype_text);
    const auto dims = line.at("shape").get<std::vector<int64_t>>();
    const auto bytes = line.at("data_bytes").get<size_t>();
    if (line.contains("file") && bytes > 0) {
      if (dtype_text == "int4" || !dtype.has_value()) continue;  // passed unpacked there; and a type that we do not have
      EXPECT_EQ(stored_dtype(*dtype), DType::kUndefined) << dtype_text;
      continue;
    }
    if (bytes == 0 || dtype_text == "bfloat16") continue;  // the raw form of bfloat16 is not imitated
    ASSERT_TRUE(dtype.has_value()) << dtype_text;
    std::string data(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(*dtype == DType::kBool ? i & 1 : (37 * i + 11) & 127);
    std::string whole;
    append_npy_tensor_header(*dtype, dims, whole);
    EXPECT_EQ(whole.size(), line.at("header_bytes").get<size_t>());
    EXPECT_EQ(sha1(whole + data), line.at("file_sha1").get<std::string>()) << dtype_text << dims.size();
    ++files;
    if (dims.size() > kMaxRank) continue;
    const TensorView view{{*dtype, Shape(dims)}, data.data(), nullptr};
    const std::string name = concat("t", files, ".npy");
    ASSERT_TRUE(write(name, view).ok());
    EXPECT_EQ(sha1(file(name)), line.at("file_sha1").get<std::string>());
    EXPECT_EQ(writer_.file_bytes(), whole.size() + bytes);
    struct stat status {};
    ASSERT_EQ(::stat(join_path(folder_.path(), name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0400U);
  }
  EXPECT_GE(files, 35U);
}

TEST_F(NpyTensor, WidensBfloat16) {
  std::vector<uint16_t> values(70000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint16_t>(i * 40503);
  const TensorView view{{DType::kBFloat16, {70000}}, values.data(), nullptr};
  ASSERT_TRUE(write("b.npy", view).ok());
  const std::string bytes = file("b.npy");
  ASSERT_EQ(bytes.size(), 128 + 280000U);
  EXPECT_NE(bytes.find("'<f4'"), std::string::npos);
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + 128 + 4 * i, 4);
    // A signalling NaN may become quiet.
    if ((values[i] & 0x7f80) == 0x7f80 && (values[i] & 0x7f) != 0) continue;
    ASSERT_EQ(bits, uint32_t{values[i]} << 16) << i;
  }
}

TEST_F(NpyTensor, UnpacksInt4LowNibbleFirst) {
  const uint8_t packed[] = {0x10, 0x32, 0x87, 0xfe};
  const TensorView view{{DType::kInt4, {2, 4}}, packed, nullptr};
  ASSERT_TRUE(write("i.npy", view).ok());
  const std::string bytes = file("i.npy");
  ASSERT_EQ(bytes.size(), 136U);
  EXPECT_NE(bytes.find("'|i1'"), std::string::npos);
  const int8_t expected[] = {0, 1, 2, 3, 7, -8, -2, -1};
  EXPECT_EQ(std::memcmp(bytes.data() + 128, expected, 8), 0);
}

TEST_F(NpyTensor, BitsBecomeBytes) {
  const uint8_t packed[] = {0b10010110, 0b1};
  const TensorView view{{DType::kUInt1, {9}}, packed, nullptr};
  ASSERT_TRUE(write("u.npy", view).ok());
  const std::string bytes = file("u.npy");
  ASSERT_EQ(bytes.size(), 137U);
  EXPECT_EQ(bytes.substr(128), std::string("\0\1\1\0\1\0\0\1\1", 9));
}

TEST_F(NpyTensor, NeverOverwrites) {
  const float one = 1;
  const TensorView view{{DType::kFloat32, {1}}, &one, nullptr};
  ASSERT_TRUE(write("a.npy", view).ok());
  const std::string before = file("a.npy");
  EXPECT_EQ(write("a.npy", view).code(), StatusCode::kUnsupported);
  EXPECT_EQ(file("a.npy"), before);
}

TEST_F(NpyTensor, LeavesNoHalfFile) {
  const TensorView view{{DType::kFloat32, {1 << 20}}, reinterpret_cast<const void*>(8), nullptr};  // unreadable: the write fails
  EXPECT_FALSE(write("a.npy", view).ok());
  EXPECT_FALSE(path_exists(join_path(folder_.path(), "a.npy")));
}

}  // namespace
}  // namespace tensortap::mindspore
