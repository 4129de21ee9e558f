#include "format/dump_data/overflow_block.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/json.h"

namespace tensortap {
namespace {

// Writes consecutive numbers of eight bytes.
void put(std::string& block, size_t at, std::initializer_list<uint64_t> words) {
  for (const uint64_t word : words) {
    std::memcpy(block.data() + at, &word, sizeof(word));
    at += sizeof(word);
  }
}

std::string json_of(const std::string& block) {
  const auto json = overflow_block_json(std::as_bytes(std::span(block)));
  return json.ok() ? json->dump() : json.status().message();
}

TEST(OverflowBlock, OfOlderDevicesHasThreeParts) {
  std::string block(2048, '\0');
  put(block, 0, {1, 2, 3, 4, 0xa1, 0xb2});
  put(block, 128, {5, 6, 7, 8, 9, 10});
  put(block, 256, {11, 12, 13, 14, 15, 16});
  put(block, 512, {17});
  put(block, 768, {18});
  put(block, 1024, {0xff, 20, 21});
  EXPECT_EQ(
      json_of(block),
      R"({"DHA Atomic Add":{"model_id":1,"stream_id":2,"task_id":3,"task_type":4,"pc_start":"0xa1","para_base":"0xb2","status":17},)"
      R"("L2 Atomic Add":{"model_id":5,"stream_id":6,"task_id":7,"task_type":8,"pc_start":"0x9","para_base":"0xa","status":18},)"
      R"("AI Core":{"model_id":11,"stream_id":12,"task_id":13,"task_type":14,"pc_start":"0xf","para_base":"0x10","kernel_code":"0xff",)"
      R"("block_idx":20,"status":21}})");
}

TEST(OverflowBlock, OfEveryKindHasItsFields) {
  std::string block(2048, '\0');
  const auto set_kind = [&block](uint32_t kind) {
    const uint32_t head[] = {0x5a5a5a5a, 0, 1, kind, 0, 80};
    std::memcpy(block.data(), head, sizeof(head));
  };
  put(block, 24, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const std::string begin = R"({"magic":"0x5a5a5a5a","version":0,"acc_list":{"valid":1,"acc_type":")";
  set_kind(0);
  EXPECT_EQ(json_of(block), begin +
                                R"(AIC","rsv":0,"data_len":80,"data":{"model_id":1,"stream_id":2,"task_id":3,"task_type":4,"context_id":5,)"
                                R"("thread_id":6,"pc_start":"0x7","para_base":"0x8","core_id":9,"block_id":10,"status":11}}})");
  set_kind(2);
  EXPECT_EQ(json_of(block),
            begin + R"(AICPU","rsv":0,"data_len":80,"data":{"model_id":1,"stream_id":2,"task_id":3,"task_type":4,"context_id":5,)"
                    R"("cpu_id":6,"thread_id":7,"status":8}}})");
  set_kind(3);
  EXPECT_EQ(json_of(block),
            begin + R"(SDMA","rsv":0,"data_len":80,"data":{"model_id":1,"stream_id":2,"task_id":3,"task_type":4,"context_id":5,)"
                    R"("thread_id":6,"src_addr":"0x7","dst_addr":"0x8","channel_id":9,"status":10}}})");
  set_kind(4);
  EXPECT_NE(json_of(block).find("kind 4"), std::string::npos);
}

TEST(OverflowBlock, HasOneSize) {
  const std::string small(2047, 'Z');
  EXPECT_FALSE(overflow_block_json(std::as_bytes(std::span(small))).ok());
  EXPECT_FALSE(overflow_block_json({}).ok());
}

TEST(OverflowBlock, OfOursSaysWhichOp) {
  const auto block = make_overflow_block({3, 4, 5});
  const Json json = *overflow_block_json(block);
  const Json& data = json["acc_list"]["data"];
  EXPECT_EQ(json["acc_list"]["acc_type"], "AIC");
  EXPECT_EQ(json["acc_list"]["data_len"], 88);
  EXPECT_EQ(data["model_id"], 3);
  EXPECT_EQ(data["stream_id"], 4);
  EXPECT_EQ(data["task_id"], 5);
}

TEST(OverflowBlock, ADescriptionNamesTheOpsThatOverflowed) {
  EXPECT_EQ(overflows_in(*overflow_block_json(make_overflow_block({3, 4, 5}))), (std::vector<OverflowBlock>{{3, 4, 5}}));
  const auto in = [](const char* text) { return overflows_in(*parse_json(text, "text")); };
  const std::string places = R"({"AI Core":{"model_id":1,"stream_id":2,"task_id":3,"status":0},)"
                             R"("DHA Atomic Add":{"model_id":1,"stream_id":5,"task_id":6,"status":%},)"
                             R"("L2 Atomic Add":{"model_id":0,"stream_id":0,"task_id":0,"status":0}})";
  const auto with_status = [&](const char* status) { return std::string(places).replace(places.find('%'), 1, status); };
  EXPECT_EQ(in(with_status("8").c_str()), (std::vector<OverflowBlock>{{1, 5, 6}}));
  EXPECT_EQ(in(with_status("0").c_str()), (std::vector<OverflowBlock>{{1, 2, 3}})) << "no place has a state";
  for (const char* other : {"3", "[]", "{}", R"({"AI Core":3})", R"({"AI Core":{"stream_id":-1,"task_id":1}})", R"({"acc_list":[]})",
                            R"({"acc_list":{"data":{"stream_id":"1","task_id":2}}})"}) {
    EXPECT_TRUE(in(other).empty()) << other;
  }
}

}  // namespace
}  // namespace tensortap
