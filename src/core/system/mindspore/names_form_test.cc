#include "system/mindspore/names.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "system/mindspore/tree/golden_lines.h"
#include "trace/scoped_name.h"

namespace tensortap::mindspore {
namespace {

uint64_t number_of(std::string_view digits) {
  uint64_t number = 0;
  EXPECT_TRUE(parse_unsigned(digits, number)) << digits;
  return number;
}

TensorName name_of(const TensorFileName& fields) {
  return {fields.type,   fields.name, number_of(fields.task), number_of(fields.stream), fields.time, fields.is_input, fields.slot,
          fields.format, fields.dtype};
}

// M23
TEST(TensorName, EveryNameOfEveryGoldenTreeIsParsedAndFormedAgain) {
  size_t names = 0;
  for (const std::string& tree : golden_trees()) {
    for (const Json& line : golden_lines(concat("trees/", tree, ".tensors.jsonl"))) {
      const auto long_name = line.find("mapped");
      const std::string file =
          long_name != line.end() && long_name->is_string() ? long_name->get<std::string>() : file_name(line.at("file").get<std::string>());
      const auto fields = parse_tensor_file_name(file);
      ASSERT_TRUE(fields.has_value()) << file;
      const TensorName name = name_of(*fields);
      EXPECT_EQ(name.op_type, line.at("op_type").get<std::string>());
      EXPECT_EQ(name.op_name, line.at("op_name").get<std::string>());
      EXPECT_EQ(name.time_us, line.at("us").get<uint64_t>());
      EXPECT_EQ(name.is_input, line.at("io").get<std::string>() == "input");
      EXPECT_EQ(name.slot, line.at("slot").get<uint64_t>());
      EXPECT_EQ(name.format, line.at("format").get<std::string>());
      EXPECT_EQ(name.dtype, line.at("dtype").is_string() ? line.at("dtype").get<std::string>() : "");
      std::string again;
      append_tensor_name(name, again);
      EXPECT_EQ(again, file);
      ++names;
    }
  }
  EXPECT_GT(names, 800U);
}

TEST(TensorName, RefusesWhatIsNoName) {
  for (const char* text :
       {"", ".npy", "statistic.csv", "922452950.npy", "a.b.0.0.1.output.0.npy", "a.b.0.0.x.output.0.F.npy", "a.b.0.0.1.outputs.0.F.npy",
        "a.0.0.1.output.0.F.npy", "a.b.0.0.1.output.x.F.f.npy", "a.b.0.0.1.output.0.F.f.bin", ".b.0.0.1.output.0.F.npy"}) {
    EXPECT_FALSE(parse_tensor_file_name(text)) << text;
  }
}

TEST(TensorName, SplitsFromTheRight) {
  const TensorName name = name_of(*parse_tensor_file_name("Parameter.my.weight--w.0.3.1795209754420988.output.12.DefaultFormat.npy"));
  EXPECT_EQ(name.op_type, "Parameter");
  EXPECT_EQ(name.op_name, "my.weight--w");
  EXPECT_EQ(name.stream, 3U);
  EXPECT_EQ(name.slot, 12U);
  EXPECT_EQ(name.dtype, "");
}

TEST(TensorName, CleansAsEachVersionDoes) {
  const TreeRules& newest = parse_profile("mindspore-2.10")->tree();
  const TreeRules& oldest = parse_profile("mindspore-2.0/gpu")->tree();
  EXPECT_EQ(clean_op_name(newest, "Default/net\\a.b c/MatMul-op3", false), "Default_net_a_b_c_MatMul-op3");
  EXPECT_EQ(clean_op_name(newest, "my.weight/w", true), "my_weight_w");
  EXPECT_EQ(clean_op_name(oldest, "Default/net/MatMul-op3", false), "MatMul-op3");
  EXPECT_EQ(clean_op_name(oldest, "my.weight/w", true), "my.weight--w");
  EXPECT_EQ(clean_op_name(newest,
                          "gr\xc3\xb6\xc3\x9f"
                          "e\n,\"\x01\xff",
                          false),
            "gr\xc3\xb6\xc3\x9f"
            "e_____");
}

RC_GTEST_PROP(TensorName, NoHostileNameLeavesItsFolderOrItsField, (std::string op_name, std::string type, bool parameter)) {
  const auto profile = *rc::gen::element("mindspore-2.10/cpu", "mindspore-2.3.0/gpu", "mindspore-2.0/cpu");
  const TreeRules& rules = parse_profile(profile)->tree();
  TensorName name;
  const std::string cleaned = clean_op_name(rules, op_name, parameter);
  const std::string clean_type = clean_op_type(type);
  name.op_type = clean_type;
  name.op_name = cleaned;
  name.time_us = *rc::gen::inRange<uint64_t>(0, 1ULL << 60);
  name.is_input = *rc::gen::arbitrary<bool>();
  name.slot = *rc::gen::inRange<uint64_t>(0, 65536);
  if (rules.dtype_in_name) name.dtype = "Float32";
  std::string text;
  append_tensor_name(name, text);
  for (const char c : text) RC_ASSERT(c != '/' && c != ',' && c != '"' && static_cast<unsigned char>(c) >= 0x20);
  for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(utf8_length(rest))) RC_ASSERT(utf8_length(rest) > 0U);
  const auto parsed = parse_tensor_file_name(text);
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(parsed->type == name.op_type && parsed->name == name.op_name && parsed->time == name.time_us && parsed->slot == name.slot);
  std::string again;
  append_tensor_name(name_of(*parsed), again);
  RC_ASSERT(again == text);
}

}  // namespace
}  // namespace tensortap::mindspore
