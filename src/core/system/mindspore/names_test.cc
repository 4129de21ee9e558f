// Names of tensor files: those of every version, and any bytes.

#include "system/mindspore/names.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"
#include "tree/folder_names.h"

namespace tensortap::mindspore {
namespace {

struct Case {
  std::string_view file;
  std::string_view type;
  std::string_view name;
  uint64_t time;
  bool is_input;
  uint32_t slot;
  std::string_view format;
  std::string_view dtype;
};

// Names that the real system wrote (tests/golden/mindspore/trees), and those of its documents.
constexpr Case kCases[] = {
    {"Add.Default_Add-op0.0.0.1795209743412620.input.0.DefaultFormat.Float32.npy", "Add", "Default_Add-op0", 1795209743412620, true, 0,
     "DefaultFormat", "Float32"},
    {"Add.Add-op2.0.0.1795209754421055.output.0.DefaultFormat.npy", "Add", "Add-op2", 1795209754421055, false, 0, "DefaultFormat", ""},
    {"Parameter.my.weight--w.0.0.12.output.0.DefaultFormat.npy", "Parameter", "my.weight--w", 12, false, 0, "DefaultFormat", ""},
    {"Parameter.data-1.0.0.1795209763672393.output.0.DefaultFormat.npy", "Parameter", "data-1", 1795209763672393, false, 0, "DefaultFormat",
     ""},
    {"Conv2D.Conv2D-op12.7.65535.16.output.3.NC1HWC0.npy", "Conv2D", "Conv2D-op12", 16, false, 3, "NC1HWC0", ""},
    {"TensorDump.flag|Default_TensorDump-op0.0.1.16.input.0.ND.int8.npy", "TensorDump", "flag|Default_TensorDump-op0", 16, true, 0, "ND",
     "int8"},
    {"A.1.2.3.4.0.0.5.output.6.7.8.npy", "A", "1.2.3.4", 5, false, 6, "7", "8"},
    {"A.input.0.x.0.0.5.output.6.f.npy", "A", "input.0.x", 5, false, 6, "f", ""},
};

TEST(TensorFileNames, OfEveryVersionAreSplitFromTheRight) {
  for (const Case& wanted : kCases) {
    const auto fields = parse_tensor_file_name(wanted.file);
    ASSERT_TRUE(fields) << wanted.file;
    EXPECT_EQ(fields->type, wanted.type);
    EXPECT_EQ(fields->name, wanted.name);
    EXPECT_EQ(fields->stem, concat(wanted.type, ".", wanted.name));
    EXPECT_EQ(fields->time, wanted.time);
    EXPECT_EQ(fields->is_input, wanted.is_input);
    EXPECT_EQ(fields->slot, wanted.slot);
    EXPECT_EQ(fields->format, wanted.format);
    EXPECT_EQ(fields->dtype, wanted.dtype);
  }
}

TEST(TensorFileNames, OthersAreRefused) {
  for (const std::string_view name :
       {"", ".npy", "a.npy", "922452950.npy", "Add.Default_Add-op0.0.0.1.input.0.DefaultFormat.Float32", "Add.x.0.0.1.input.0.npy",
        ".x.0.0.1.input.0.f.npy", "Add..0.0.1.input.0.f.npy", "Add.0.0.1.input.0.f.npy", "Add.x.0.0.-1.input.0.f.npy",
        "Add.x.0.0.1.input.65536.f.npy", "Add.x.0.0.9223372036854775808.input.0.f.npy", "Add.x.0.0.1.inputs.0.f.npy",
        "Add.x.0.0.1.input.0.f.g.h.npy", "Add.x.0.0.1.input..f.npy", "a/Add.x.0.0.1.input.0.f.npy", "Add.x.0. 0.1.input.0.f.npy",
        "Add.x.0.0.1.input.0x1.f.npy", "Add.x.0.0.1.INPUT.0.f.npy"}) {
    EXPECT_FALSE(parse_tensor_file_name(name)) << name;
  }
}

RC_GTEST_PROP(TensorFileNames, AreMadeAndReadBack, ()) {
  const auto type = *rc::gen::nonEmpty(rc::gen::suchThat(rc::gen::string<std::string>(), [](const std::string& text) {
    return !text.empty() && text.find_first_of("./") == std::string::npos;
  }));
  const auto name = *rc::gen::suchThat(rc::gen::string<std::string>(),
                                       [](const std::string& text) { return !text.empty() && text.find('/') == std::string::npos; });
  const auto slot = *rc::gen::arbitrary<uint16_t>();
  const auto time = *rc::gen::arbitrary<uint32_t>();
  const auto dtype = *rc::gen::element<std::string>("", ".Float32", ".bfloat16");
  const std::string file = concat(type, ".", name, ".0.7.", time, ".input.", slot, ".DefaultFormat", dtype, ".npy");
  const auto fields = parse_tensor_file_name(file);
  RC_ASSERT(fields.has_value());
  RC_ASSERT(fields->type == type);
  RC_ASSERT(fields->name == name);
  RC_ASSERT(fields->slot == slot);
  RC_ASSERT(fields->time == time);
  RC_ASSERT(concat(".", fields->dtype) == (dtype.empty() ? "." : dtype));
}

// Whatever is taken is taken whole: its parts are the name again.
RC_GTEST_PROP(TensorFileNames, OfAnyBytesAreRefusedOrKeptWhole, (std::vector<uint8_t> bytes, uint8_t where)) {
  std::string file = "Add.Default_Add-op0.0.0.17.input.0.DefaultFormat.Float32.npy";
  const std::string text(bytes.begin(), bytes.end());
  file.replace(where % file.size(), text.size() / 2, text);
  const auto fields = parse_tensor_file_name(file);
  (void)is_dump_data_name(file);
  (void)clean_name(file);
  (void)split_op_number(file);
  if (!fields) return;
  RC_ASSERT(file.starts_with(concat(fields->type, ".", fields->name, ".", fields->task, ".", fields->stream, ".")));
  const std::string end = concat(".", fields->format, fields->dtype.empty() ? "" : ".", fields->dtype, ".npy");
  RC_ASSERT(file.ends_with(end));
}

TEST(FolderNames, AreRanksAndTimes) {
  EXPECT_EQ(parse_rank_folder("rank_0"), 0);
  EXPECT_EQ(parse_rank_folder("rank_127"), 127);
  for (const std::string_view name : {"rank_", "rank_x", "rank_-1", "rank0", "rank_99999999999", "xrank_1"})
    EXPECT_FALSE(parse_rank_folder(name)) << name;
  EXPECT_TRUE(is_time_folder("20240601120000"));
  for (const std::string_view name : {"2024060112000", "202406011200000", "99990601120000", "2024060112000x"})
    EXPECT_FALSE(is_time_folder(name)) << name;
}

TEST(OpNames, AreCleanedAsEachVersionCleansThem) {
  EXPECT_EQ(clean_name("Default/a.b c\\d/Add-op1"), "Default_a_b_c_d_Add-op1");
  EXPECT_EQ(strip_scope("Default/net-Net/Conv2D-op12"), "Conv2D-op12");
  EXPECT_EQ(dash_scope("my.weight/w"), "my.weight--w");
  EXPECT_EQ(split_op_number("Default/Add-op17").name, "Default/Add");
  EXPECT_EQ(split_op_number("Default/Add-op17").number, "17");
  EXPECT_EQ(split_op_number("Default/Add-ops").name, "Default/Add-ops");
  EXPECT_EQ(op_number("Add-op17"), 17U);
  EXPECT_EQ(op_number("Add"), 0U);
}

TEST(DumpDataNames, HaveFiveFields) {
  EXPECT_TRUE(is_dump_data_name("Add.Default_Add-op1.12.7.1700000000000000"));
  EXPECT_TRUE(is_dump_data_name("Opdebug.Node_OpDebug.1.2.3"));
  EXPECT_FALSE(is_dump_data_name("Add.Default_Add-op1.12.7"));
  EXPECT_FALSE(is_dump_data_name("Add.Default_Add-op1.12.7.x"));
}

}  // namespace
}  // namespace tensortap::mindspore
