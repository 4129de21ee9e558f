#include "source/ggml/gguf_file.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"

namespace tensortap::ggml {
namespace {

// The parts of a GGUF file.
class Bytes {
 public:
  template <class T>
  Bytes& number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Bytes& text(const std::string& text) {
    number(uint64_t{text.size()});
    bytes_ += text;
    return *this;
  }
  Bytes& fill(size_t multiple) {
    while (bytes_.size() % multiple != 0) bytes_ += '\0';
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

Bytes beginning(uint64_t tensors, uint64_t members, uint32_t version = 3) {
  Bytes bytes;
  bytes.number(uint32_t{0x46554747}).number(version).number(tensors).number(members);
  return bytes;
}

// An architecture, members of other kinds, and two tensors: "a" of 2 x 3 floats, which holds 0 to 5, and "b", which lies beyond the end.
std::string sound_file() {
  Bytes bytes = beginning(2, 4);
  bytes.text("general.architecture").number(uint32_t{8}).text("llama");
  bytes.text("general.alignment").number(uint32_t{4}).number(uint32_t{64});
  bytes.text("words").number(uint32_t{9}).number(uint32_t{8}).number(uint64_t{2}).text("one").text("two");
  bytes.text("scores").number(uint32_t{9}).number(uint32_t{6}).number(uint64_t{2}).number(0.5F).number(1.5F);
  bytes.text("a").number(uint32_t{2}).number(int64_t{2}).number(int64_t{3}).number(int32_t{0}).number(uint64_t{0});
  bytes.text("b").number(uint32_t{1}).number(int64_t{64}).number(int32_t{2}).number(~uint64_t{0} - 5);
  bytes.fill(64);
  for (int i = 0; i < 6; ++i) bytes.number(static_cast<float>(i));
  return bytes.take();
}

class GgufFileTest : public testing::Test {
 protected:
  std::string saved(const std::string& content) {
    const std::string path = folder_.path() + "/model.gguf";
    EXPECT_TRUE(write_file_atomically(path, content).ok());
    return path;
  }
  TemporaryFolder folder_;
};

TEST_F(GgufFileTest, TellsItsArchitectureAndReadsItsTensors) {
  const auto file = GgufFile::open(saved(sound_file()));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->architecture(), "llama");
  EXPECT_EQ(file->find("c"), nullptr);
  const StoredTensor* tensor = file->find("a");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->ne, (std::array<int64_t, kMostDimensions>{2, 3, 1, 1}));
  EXPECT_EQ(tensor->begin % 64, 0U);
  std::vector<float> values(6);
  ASSERT_TRUE(file->read(*tensor, std::as_writable_bytes(std::span(values))).ok());
  EXPECT_EQ(values, (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST_F(GgufFileTest, ReadsNothingBeyondItsEnd) {
  const auto file = GgufFile::open(saved(sound_file()));
  ASSERT_TRUE(file.ok());
  std::vector<std::byte> bytes(25);
  EXPECT_EQ(file->read(*file->find("a"), bytes).code(), StatusCode::kCorrupt);
  EXPECT_EQ(file->read(*file->find("b"), std::span(bytes).first(1)).code(), StatusCode::kCorrupt);
}

TEST_F(GgufFileTest, ReadsNothingOfAFileThatWasReplaced) {
  const auto file = GgufFile::open(saved(sound_file()));
  ASSERT_TRUE(file.ok());
  saved(sound_file());
  std::vector<std::byte> bytes(4);
  EXPECT_EQ(file->read(*file->find("a"), bytes).code(), StatusCode::kNotFound);
}

TEST_F(GgufFileTest, RefusesWhatIsNoSoundFile) {
  const auto code = [this](Bytes bytes) { return GgufFile::open(saved(bytes.take())).status().code(); };
  EXPECT_EQ(code(Bytes()), StatusCode::kCorrupt);
  EXPECT_EQ(code(beginning(0, 0, 1)), StatusCode::kUnsupported);
  EXPECT_EQ(code(beginning(~uint64_t{0}, 0)), StatusCode::kCorrupt);
  EXPECT_EQ(code(beginning(0, 1).number(~uint64_t{0})), StatusCode::kCorrupt) << "a name of 2^64 bytes";
  EXPECT_EQ(code(beginning(0, 1).text("x").number(uint32_t{9}).number(uint32_t{4}).number(uint64_t{1} << 62)), StatusCode::kCorrupt);
  EXPECT_EQ(code(beginning(0, 1).text("x").number(uint32_t{77}).number(uint64_t{0})), StatusCode::kCorrupt) << "an unknown type";
  Bytes nested = beginning(0, 1).text("x").number(uint32_t{9});
  for (int i = 0; i < 100; ++i) nested.number(uint32_t{9}).number(uint64_t{1});
  EXPECT_EQ(code(nested), StatusCode::kCorrupt) << "arrays in arrays in arrays";
  EXPECT_EQ(code(beginning(1, 0).text("a").number(uint32_t{5})), StatusCode::kCorrupt);
  EXPECT_EQ(code(beginning(1, 0).text("a").number(uint32_t{1}).number(int64_t{-1}).number(int32_t{0}).number(uint64_t{0})),
            StatusCode::kCorrupt);
}

TEST_F(GgufFileTest, IsReadSafelyWhateverByteIsChangedAndWhereverItIsCut) {
  const std::string sound = sound_file();
  std::vector<std::byte> bytes(24);
  const auto look_at = [&](const std::string& content) {
    const auto file = GgufFile::open(saved(content));
    if (file.ok() && file->find("a") != nullptr) static_cast<void>(file->read(*file->find("a"), bytes));
  };
  for (size_t i = 0; i < sound.size(); ++i) {
    look_at(sound.substr(0, i));
    std::string changed = sound;
    changed[i] = static_cast<char>(changed[i] ^ 0x81);
    look_at(changed);
  }
}

}  // namespace
}  // namespace tensortap::ggml
