// Crash files that are whole, cut, and hostile.

#include "crash/crash_file.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstring>

#include "base/json.h"
#include "base/temporary_folder.h"
#include "crash/crash_format.h"

namespace tensortap {
namespace {

template <class T>
void put(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_frame(std::string& text, CrashFrameKind kind, const std::string& content) {
  put(text, CrashFrame{kind, 0, content.size()});
  text += content;
  text.append((8 - content.size() % 8) % 8, '\0');
}

std::string op_frame(uint32_t op, uint32_t flags) {
  CrashOp told{op, 2, 7, 0, 0, 100, flags, 4, 3, 0};
  std::string content;
  put(content, told);
  return content + "convToy";
}

// As versions do that tell where the op stands.
std::string placed_op_frame(uint32_t op, uint32_t flags, uint32_t place) {
  std::string content = op_frame(op, flags);
  put(content, CrashOpPlace{place, 1, 1, 4, 2, 0});
  return content + "maindo";
}

std::string tensor_frame(const CrashTensor& tensor, const std::string& memory) {
  std::string content;
  put(content, tensor);
  return content + memory;
}

// As versions of rows of kNarrowRowBytes wrote it.
std::string narrow_tensor_frame(const CrashTensor& tensor, const std::string& memory) {
  std::string content = tensor_frame(tensor, memory);
  content.erase(offsetof(RecordRow, model_phase), sizeof(RecordRow) - offsetof(RecordRow, model_phase));
  return content.erase(kNarrowBytesBeforeData, offsetof(RecordRow, data_offset) - kNarrowBytesBeforeData);
}

// Three floats, every second one of five, from the last to the first.
CrashTensor strided() {
  CrashTensor tensor;
  tensor.row.op = 1;
  tensor.row.set_desc({DType::kFloat32, Shape{3}});
  tensor.strides[0] = -2;
  tensor.strided = 1;
  tensor.first = 16;
  tensor.bytes = 20;
  return tensor;
}

std::string floats(std::initializer_list<float> values) {
  std::string text;
  for (const float value : values) put(text, value);
  return text;
}

std::string session_frame(int64_t time_us, const std::string& json) {
  std::string content;
  put(content, CrashSession{time_us});
  return content + json;
}

std::string whole_file() {
  CrashHeader header;
  header.signal = SIGSEGV;
  header.code = 1;
  header.address = 0x10;
  header.complete = 1;
  std::string text;
  put(text, header);
  put_frame(text, CrashFrameKind::kSession, session_frame(1'700'000'000'000'000, R"({"layout": "ge"})"));
  put_frame(text, CrashFrameKind::kOp, op_frame(1, kCrashedHere));
  put_frame(text, CrashFrameKind::kTensor, tensor_frame(strided(), floats({0, 1, 2, 3, 4})));
  put_frame(text, CrashFrameKind::kMaps, "1000-2000 r-xp 00000300 fd:00 9 /bin/program\n");
  std::string stack;
  put(stack, uint64_t{0x1010});
  put(stack, uint64_t{0x5000});
  put_frame(text, CrashFrameKind::kStack, stack);
  return text;
}

class CrashFileTest : public testing::Test {
 protected:
  Result<std::unique_ptr<CrashFile>> read(const std::string& text) {
    const std::string path = join_path(folder_.path(), "crash-1.bin");
    EXPECT_TRUE(write_file_atomically(path, text).ok());
    return CrashFile::read(path);
  }
  TemporaryFolder folder_;
};

TEST_F(CrashFileTest, SaysWhatRanAndWhere) {
  const auto crash = read(whole_file());
  ASSERT_TRUE(crash.ok()) << crash.status().message();
  EXPECT_EQ((*crash)->text(), "the program got SIGSEGV (address 0x10) in op \"conv\" (Toy)");
  const Json json = (*crash)->to_json();
  EXPECT_EQ(json["op"], (Json{{"name", "conv"}, {"type", "Toy"}, {"step", 7}, {"call", 2}, {"thread", 100}}));
  EXPECT_EQ(json["stack"][0], (Json{{"address", "0x1010"}, {"in", "/bin/program+0x310"}}));
  EXPECT_EQ(json["stack"][1]["in"], "?");
}

TEST_F(CrashFileTest, TellsTheSessionAndWhereOpsStand) {
  std::string text = whole_file();
  put_frame(text, CrashFrameKind::kOp, placed_op_frame(5, kCrashedTold, 9));
  put_frame(text, CrashFrameKind::kOp, placed_op_frame(0, kCrashedTold, 0));
  put_frame(text, CrashFrameKind::kOp, placed_op_frame(5, kCrashedTold, 9));
  const auto crash = read(text);
  ASSERT_TRUE(crash.ok()) << crash.status().message();
  EXPECT_EQ((*crash)->layout(), "ge");
  EXPECT_EQ((*crash)->time_us(), 1'700'000'000'000'000);
  EXPECT_EQ((*crash)->ops().size(), 1U) << "those of the ring did not run";
  const auto known = (*crash)->known_ops();
  ASSERT_EQ(known.size(), 3U);
  EXPECT_EQ((std::vector<OpId>{known[0]->op, known[1]->op, known[2]->op}), (std::vector<OpId>{0, 1, 5}));
  EXPECT_EQ(known[2]->place, 9U);
  EXPECT_EQ(known[2]->graph + "/" + known[2]->original, "main/do");
  EXPECT_TRUE(known[2]->single);
  EXPECT_EQ(known[1]->place, 0U) << "of an older version";
}

TEST_F(CrashFileTest, PacksTensorsInTheOrderOfTheirElements) {
  const auto crash = read(whole_file());
  const auto data = (*crash)->data(0);
  ASSERT_TRUE(data.ok()) << data.status().message();
  const auto* values = static_cast<const float*>(data->view.data);
  EXPECT_EQ(std::vector<float>(values, values + 3), (std::vector<float>{4, 2, 0}));
  EXPECT_FALSE((*crash)->data(1).ok());
}

TEST_F(CrashFileTest, ACutFileIsReadAsFarAsItGoes) {
  const std::string whole = whole_file();
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto crash = read(whole.substr(0, size));
    ASSERT_EQ(crash.ok(), size >= sizeof(CrashHeader)) << size;
    if (!crash.ok()) continue;
    for (size_t row = 0; row < (*crash)->rows().size(); ++row) EXPECT_TRUE((*crash)->data(row).ok());
    EXPECT_FALSE((*crash)->to_json().empty());
  }
}

TEST_F(CrashFileTest, RegistersAndStackMayBeEmpty) {
  std::string text;
  put(text, CrashHeader{});
  put_frame(text, CrashFrameKind::kRegisters, "");
  put_frame(text, CrashFrameKind::kStack, "7 bytes");
  const auto crash = read(text);
  ASSERT_TRUE(crash.ok()) << crash.status().message();
  EXPECT_TRUE((*crash)->to_json()["registers"].is_null());
  EXPECT_TRUE((*crash)->to_json()["stack"].is_null());
}

TEST_F(CrashFileTest, ReadsTensorsOfEarlierVersions) {
  std::string text;
  put(text, CrashHeader{});
  CrashTensor tensor = strided();
  tensor.row.storage = 77;
  tensor.row.value_flags = kValueOwnName;
  const std::string frame = narrow_tensor_frame(tensor, floats({0, 1, 2, 3, 4}));
  ASSERT_EQ(frame.size(), 792U + 20);
  put_frame(text, CrashFrameKind::kNarrowTensor, frame);
  const auto crash = read(text);
  ASSERT_EQ((*crash)->rows().size(), 1U);
  EXPECT_EQ((*crash)->rows()[0].storage, 77U);
  EXPECT_EQ((*crash)->rows()[0].value_flags, kValueOwnName);
  const Result<RecordData> data = (*crash)->data(0);
  ASSERT_TRUE(data.ok());
  const auto* values = static_cast<const float*>(data->view.data);
  EXPECT_EQ(std::vector<float>(values, values + 3), (std::vector<float>{4, 2, 0}));
}

TEST_F(CrashFileTest, TensorsThatReachBeyondTheirMemoryHaveNoData) {
  const auto data_of = [this](const CrashTensor& tensor) {
    std::string text;
    put(text, CrashHeader{});
    put_frame(text, CrashFrameKind::kTensor, tensor_frame(tensor, floats({0, 1, 2, 3, 4})));
    const auto crash = read(text);
    EXPECT_TRUE(crash.ok());
    EXPECT_EQ((*crash)->rows().size(), 1U);
    return (*crash)->data(0).ok();
  };
  EXPECT_TRUE(data_of(strided()));
  const std::array<void (*)(CrashTensor&), 9> harms = {
      [](CrashTensor& tensor) { tensor.strides[0] = -3; },
      [](CrashTensor& tensor) { tensor.strides[0] = 2; },
      [](CrashTensor& tensor) { tensor.strides[0] = INT64_MIN; },
      [](CrashTensor& tensor) { tensor.first = UINT64_MAX; },
      [](CrashTensor& tensor) { tensor.bytes = UINT64_MAX; },
      [](CrashTensor& tensor) { tensor.row.numel = 4; },
      [](CrashTensor& tensor) { tensor.row.dims_count = 255; },
      [](CrashTensor& tensor) { tensor.row.dtype = 200; },
      [](CrashTensor& tensor) {
        tensor.row.set_desc({DType::kFloat32, Shape{5}});
        tensor.strided = 0;
      },
  };
  for (size_t i = 0; i < harms.size(); ++i) {
    CrashTensor tensor = strided();
    harms.at(i)(tensor);
    EXPECT_FALSE(data_of(tensor)) << i;
  }
}

}  // namespace
}  // namespace tensortap
