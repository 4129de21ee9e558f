#include "format/dump_data/dump_data_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "format/dump_data/dump_data_numbers.h"

namespace tensortap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string with_length(const std::string& message) {
  const uint64_t length = message.size();
  std::string file(sizeof(length), '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  return file + message;
}

Result<DumpDataFile> parse(const std::string& file) { return parse_dump_data(bytes_of(file), file.size()); }

TEST(DumpDataFile, TellsEveryField) {
  DumpDataFile file;
  file.time_us = 17;
  file.op_name = "net/a";
  file.message = "registers";
  file.attributes = {{"user_tag", "x"}};
  DumpDataTensor input = describe_dump_data({DType::kInt8, {1, 2}});
  input.sub_format = 64;
  input.address = uint64_t{1} << 63;
  input.offset = UINT64_MAX;
  input.arg_index = 5;
  input.input_type = 6;
  DumpDataTensor output = describe_dump_data({DType::kInt8, {3}});
  output.original_dims = {1, 3};
  output.origin = {"orig", 4, 3, 1};
  output.sub_format = -1;
  file.inputs = {input};
  file.outputs = {output};
  file.buffers.resize(1);
  file.buffers[0].size = 2;
  file.workspaces.resize(1);
  file.workspaces[0].size = 1;
  file.workspaces[0].arg_index = 9;
  const std::string text = *make_dump_data_head(file) + "abcdefgh";
  const auto read = parse(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->version, "2.0");
  EXPECT_EQ(read->time_us, 17U);
  EXPECT_EQ(read->op_name, "net/a");
  EXPECT_EQ(read->message, "registers");
  EXPECT_EQ(read->attributes[0].name + read->attributes[0].value, "user_tagx");
  const DumpDataTensor& in = read->inputs[0];
  EXPECT_THAT(in.dims, ElementsAre(1, 2));
  EXPECT_EQ(in.sub_format, 64);
  EXPECT_EQ(in.address, uint64_t{1} << 63);
  EXPECT_EQ(in.offset, UINT64_MAX);
  EXPECT_EQ(in.arg_index, 5U);
  EXPECT_EQ(in.input_type, 6U);
  const DumpDataTensor& out = read->outputs[0];
  EXPECT_THAT(out.original_dims, ElementsAre(1, 3));
  EXPECT_EQ(out.origin.name, "orig");
  EXPECT_EQ(out.origin.output, 4U);
  EXPECT_EQ(out.sub_format, -1);
  EXPECT_EQ(read->workspaces[0].arg_index, 9U);
  const auto payload = [&](const DumpDataTensor& tensor) { return text.substr(tensor.payload_at, tensor.size); };
  EXPECT_EQ(payload(in) + "|" + payload(out) + "|" + payload(read->buffers[0]) + "|" + payload(read->workspaces[0]), "ab|cde|fg|h");
}

// The small device's mark lies beyond the message of one byte that the length allows.
TEST(DumpDataFile, AMarkBehindTheMessageIsNotLookedAt) {
  const std::array<unsigned char, 17> bytes = {1, 0, 0, 0, 0, 0, 0, 0, 0x5a, 0x5a, 0x5a, 0x5a, 0xe7, 0x25, 0xe7, 0xe7, 0x10};
  const std::string file(bytes.begin(), bytes.end());
  EXPECT_EQ(parse(file).status().code(), StatusCode::kCorrupt);
  EXPECT_FALSE(is_dump_data(bytes_of(file)));
}

TEST(DumpDataFile, BytesBehindTheLastPayloadAreCounted) {
  DumpDataFile file;
  file.outputs = {describe_dump_data({DType::kInt8, {3}})};
  const auto read = parse(*make_dump_data_head(file) + "abc" + "more");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->left_over, 4U);
}

TEST(DumpDataFile, OnlyWhatHasNoAddressMayBeMissing) {
  DumpDataFile file;
  file.outputs.assign(2, describe_dump_data({DType::kInt8, {3}}));
  const std::string plain = *make_dump_data_head(file);
  EXPECT_EQ(parse(plain + "abc").status().code(), StatusCode::kCorrupt);
  file.outputs[1].address = 4096;
  const std::string named = *make_dump_data_head(file);
  const auto read = parse(named + "abc");
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->outputs[0].absent);
  EXPECT_EQ(read->outputs[1].payload_at, named.size());
  EXPECT_EQ(parse(named + "ab").status().code(), StatusCode::kCorrupt);
}

TEST(DumpDataFile, KnownFieldsOfAWrongKindAreDamage) {
  for (const std::string& field :
       {std::string("\x12\x01\x61"), std::string("\x18\x01"), std::string("\x22\x02\x18\x01"), std::string("\x30\x05"),
        std::string("\x1a\x02\x32\x00"), std::string("\x1a\x04\x1a\x02\x0a"), std::string("\x3a\x02\x08\x01")}) {
    EXPECT_EQ(parse(with_length("\x0a\x03"
                                "2.0" +
                                field))
                  .status()
                  .code(),
              StatusCode::kCorrupt)
        << testing::PrintToString(field);
  }
  EXPECT_TRUE(parse(with_length("\x0a\x03"
                                "2.0"
                                "\xa2\x06\x02xx"))
                  .ok())
      << "an unknown field is passed over";
  EXPECT_FALSE(parse(with_length("\x10\x05")).ok()) << "a message has a version";
}

TEST(DumpDataFile, SizesAreCheckedBeforeTheyAreUsed) {
  DumpDataFile file;
  file.outputs.assign(2, describe_dump_data({DType::kInt8, {3}}));
  file.outputs[0].size = UINT64_MAX;
  file.outputs[1].size = 7;
  EXPECT_EQ(parse(*make_dump_data_head(file) + "abcdef").status().code(), StatusCode::kCorrupt);
  for (const uint64_t length : {uint64_t{0}, uint64_t{100}, uint64_t{INT32_MAX} + 1, UINT64_MAX}) {
    std::string head(8, '\0');
    std::memcpy(head.data(), &length, 8);
    EXPECT_EQ(parse(head + "xxxx").status().code(), StatusCode::kCorrupt) << length;
  }
}

TEST(DumpDataFile, ATensorSmallerThanItsShapeIsDamage) {
  DumpDataTensor tensor = describe_dump_data({DType::kFloat32, {2, 3}});
  tensor.size = 23;
  EXPECT_THAT(dump_data_desc(tensor).status().message(), HasSubstr("DT_FLOAT [2, 3] takes 24 bytes, the payload has 23"));
  tensor.size = 32;
  EXPECT_EQ(dump_data_desc(tensor)->shape, Shape({2, 3}));
  tensor.dims = {UINT64_MAX, 2};
  EXPECT_EQ(dump_data_desc(tensor)->shape, Shape({8}));
  tensor.dims.assign(32, 1);
  tensor.dims[20] = 8;
  EXPECT_EQ(dump_data_desc(tensor)->shape.rank(), 32);
  EXPECT_EQ(dump_data_desc(tensor)->shape[20], 8);
  tensor.dims.assign(33, 1);
  EXPECT_EQ(dump_data_desc(tensor)->shape, Shape({8}));
  tensor.dims = {uint64_t{1} << 62, 4};
  EXPECT_FALSE(dump_data_desc(tensor).ok());
  tensor.type = 32;
  tensor.dims = {4, 2};
  EXPECT_EQ(dump_data_desc(tensor)->shape, Shape({4, 2, 2}));
  tensor.type = 13;
  EXPECT_EQ(dump_data_desc(tensor)->shape, Shape({32}));
}

TEST(DumpDataNumbers, InterfaceAndFileNumberTypesDifferently) {
  // The interface's number, the file's.
  const std::pair<int, int> kPairs[] = {{0, 1},   {1, 2},   {2, 3},   {3, 7},   {4, 4},   {6, 5},   {7, 6},   {8, 9},
                                        {9, 8},   {10, 10}, {11, 12}, {12, 11}, {13, 13}, {16, 16}, {17, 17}, {27, 27},
                                        {29, 28}, {30, 29}, {31, 30}, {32, 31}, {33, 32}, {34, 33}, {35, 34}, {36, 35},
                                        {37, 36}, {38, 37}, {39, 38}, {40, 39}, {41, 40}, {28, 0},  {-1, 0},  {99, 0}};
  for (const auto& [ge, file] : kPairs) EXPECT_EQ(dump_data_type_from_ge(ge), file) << ge;
  EXPECT_EQ(find_dump_data_type(43), nullptr);
  EXPECT_EQ(dump_data_type_of(DType::kBFloat16)->number, 27);
}

TEST(DumpDataNumbers, OrdersHaveNames) {
  const std::pair<int, const char*> kNames[] = {{0, "NCHW"},        {2, "ND"},
                                                {3, "NC1HWC0"},     {15, "FRACTAL_DECONV_SP_STRIDE8_TRANS"},
                                                {25, "C1HWNCoC0"},  {28, "FRACTAL_ZZ"},
                                                {29, "FRACTAL_NZ"}, {32, "NDC1HWC0"},
                                                {40, "RESERVED"},   {47, "NCL"},
                                                {49, "C1HWC0"},     {255, "MAX"},
                                                {254, ""},          {-1, ""}};
  for (const auto& [number, name] : kNames) EXPECT_EQ(dump_data_format_name(number), name);
  EXPECT_EQ(dump_data_format_number("fractal_nz"), 29);
  EXPECT_FALSE(dump_data_format_number("nothing").has_value());
}

TEST(DumpDataNano, EveryCutIsDamage) {
  std::string header("\x5a\x5a\x5a\x5a\0\0\0\0", 8);
  const auto add = [](std::string& text, auto value) { text.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  std::string shape;
  add(shape, uint32_t{0});
  add(shape, uint32_t{8});
  add(shape, uint64_t{3});
  std::string inputs;
  add(inputs, uint32_t{1});
  for (const int32_t word : {2, 2, 0}) add(inputs, word);  // int8 as the interface numbers it, ND
  for (const uint64_t word : {0, 0, 3}) add(inputs, word);
  add(inputs, static_cast<uint32_t>(shape.size()));
  inputs += shape;
  add(header, uint32_t{4});
  add(header, static_cast<uint32_t>(inputs.size()));
  const std::string file = with_length(header + inputs) + "abc";
  const auto read = parse(file);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->framing, DumpDataFraming::kNano);
  EXPECT_EQ(read->inputs[0].type, 3);
  EXPECT_THAT(read->inputs[0].dims, ElementsAre(3));
  EXPECT_THAT(read->outputs, IsEmpty());
  for (size_t cut = 0; cut < file.size(); ++cut) EXPECT_FALSE(parse(file.substr(0, cut)).ok()) << cut;
  EXPECT_FALSE(parse(file + "d").ok());
}

}  // namespace
}  // namespace tensortap
