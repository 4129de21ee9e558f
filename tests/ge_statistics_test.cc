// The tables of statistics of AscendCL's tree against tables and tensors of the real one. A10

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/json.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "read/tensor_file.h"
#include "registry/registry.h"
#include "stats/stats.h"

namespace tensortap {
namespace {

std::string golden(const char* name) { return concat(TENSORTAP_TESTDATA, "/golden/acl_stats/", name); }

class GeStatistics : public testing::Test {
 protected:
  // Tensors of one case, "input.0" and so on.
  std::map<std::string, const NamedTensor*> tensors_of(const std::string& name) const {
    std::map<std::string, const NamedTensor*> found;
    for (const NamedTensor& tensor : arrays_.tensors) {
      if (tensor.name.starts_with(name + ".")) found[tensor.name.substr(name.size() + 1)] = &tensor;
    }
    return found;
  }

  void SetUp() override {
    auto arrays = read_tensor_file(golden("arrays.npz"));
    ASSERT_TRUE(arrays.ok()) << arrays.status().message();
    arrays_ = *std::move(arrays);
    const auto text = read_file(golden("expected.json"));
    ASSERT_TRUE(text.ok());
    expected_ = *parse_json(*text, "expected.json");
  }

  // The table that the layout writes for one op with these tensors.
  std::string table_of(const std::map<std::string, const NamedTensor*>& tensors, const std::string& columns) const {
    const TemporaryFolder folder;
    DumpInfo info;
    info.folder = folder.path();
    CaptureSpec spec;
    spec.payload = Payload::kStatistics;
    if (!columns.empty()) spec.layout_options["stats_columns"] = columns;
    const auto writer = find_layout("ge")->create(info, spec);
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    OpInfo op;
    op.name = op.type = "Op";
    EXPECT_TRUE((*writer)->add_op(0, op).ok());
    for (const auto& [slot, tensor] : tensors) {
      RecordRow row;
      row.op = 0;
      row.slot_kind = static_cast<uint8_t>(slot.starts_with("input") ? SlotKind::kInput : SlotKind::kOutput);
      row.slot_index = static_cast<uint16_t>(slot.back() - '0');
      row.set_desc(tensor->view.desc);
      row.stats = compute_stats(tensor->view, {});
      EXPECT_TRUE((*writer)->add_record(row, nullptr, nullptr).ok());
    }
    EXPECT_TRUE((*writer)->finish("{}").ok());
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
      if (entry.path().extension() == ".csv") return *read_file(entry.path());
    }
    return "";
  }

  TensorFile arrays_;
  Json expected_;
};

TEST_F(GeStatistics, AreThoseOfTheRealSystem) {
  for (const auto& [name, one] : expected_.items()) {
    std::string columns;
    for (const Json& word : one.value("dump_stats", Json::array())) columns += (columns.empty() ? "" : ",") + word.get<std::string>();
    const std::string array = one.value("array", std::string());
    const auto tensors = tensors_of(array.empty() ? name : array.substr(0, array.find('.')));
    ASSERT_FALSE(tensors.empty()) << name;
    EXPECT_EQ(table_of(tensors, columns), one["csv"].get<std::string>()) << name;
  }
  EXPECT_EQ(expected_.size(), 4U);
}

TEST_F(GeStatistics, OfNaNAndInfinitiesFollowItsRules) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const auto cells = [this](const std::vector<float>& values) {
    const NamedTensor tensor{"x", {{DType::kFloat32, Shape({std::ssize(values)})}, values.data(), nullptr}, nullptr};
    const std::string table = table_of({{"output.0", &tensor}}, "");
    return table.substr(table.find("DT_FLOAT"));
  };
  EXPECT_EQ(cells({nan, 1, 2}), "DT_FLOAT,ND,3,nan,nan,nan,3,1,0,0\n");
  EXPECT_EQ(cells({1, inf, 2}), "DT_FLOAT,ND,3,inf,1,inf,3,0,0,1\n");
  EXPECT_EQ(cells({1, -inf, nan}), "DT_FLOAT,ND,3,1,-inf,-inf,3,1,1,0\n");
  EXPECT_EQ(cells({1, -inf, inf}), "DT_FLOAT,ND,3,inf,-inf,nan,3,0,1,1\n");
  EXPECT_EQ(cells({1234567, -0.000012345678F}), "DT_FLOAT,ND,2,1.23457e+06,-1.23457e-05,617283,2,0,0,0\n");
}

TEST_F(GeStatistics, IntegersKeepAllDigitsAndNewTypesTheirNames) {
  const int64_t integers[] = {INT64_MIN, 9007199254740993};
  const uint16_t bfloats[] = {0x3f80, 0xc000};  // 1, -2
  const NamedTensor wide{"", {{DType::kInt64, {2}}, integers, nullptr}, nullptr};
  const NamedTensor brain{"", {{DType::kBFloat16, {2, 1}}, bfloats, nullptr}, nullptr};
  const NamedTensor scalar{"", {{DType::kBFloat16, Shape()}, bfloats, nullptr}, nullptr};
  const std::string table = table_of({{"output.0", &wide}, {"output.1", &brain}, {"output.2", &scalar}}, "");
  EXPECT_NE(table.find("\nOutput,0,16,DT_INT64,ND,2,9007199254740993,-9223372036854775808,"), std::string::npos) << table;
  EXPECT_NE(table.find("\nOutput,1,4,DT_BF16,ND,2x1,1,-2,-0.5,2,0,0,0\n"), std::string::npos) << table;
  EXPECT_NE(table.find("\nOutput,2,2,DT_BF16,ND,-,1,1,1,1,0,0,0\n"), std::string::npos) << table;
}

}  // namespace
}  // namespace tensortap
