#include "serve/value_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "serve/elements.h"
#include "serve/web_answers.h"
#include "stats/histogram.h"
#include "trace/vector_dump_index.h"

namespace tensortap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Picture {
  std::vector<uint32_t> header;
  std::vector<float> values;
};

Picture picture_of(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.type, "application/octet-stream");
  Picture picture{std::vector<uint32_t>(10), {}};
  EXPECT_GE(answer.body.size(), 40U);
  std::memcpy(picture.header.data(), answer.body.data(), 40);
  picture.values.resize((answer.body.size() - 40) / sizeof(float));
  if (!picture.values.empty()) std::memcpy(picture.values.data(), answer.body.data() + 40, answer.body.size() - 40);
  return picture;
}

class ValueAnswers : public testing::Test {
 protected:
  template <class T>
  size_t add(DType dtype, const Shape& shape, const std::vector<T>& values) {
    RecordRow row;
    row.op = 0;
    row.set_desc({dtype, shape});
    const size_t number = index_->add(row);
    if (!values.empty()) index_->set_data(number, values);
    return number;
  }
  Answer get(size_t row, std::string_view rest) {
    if (answers_ == nullptr) answers_ = WebAnswers::of(ServedDump::of("made", std::move(index_)), nullptr);
    return answers_->get(concat("/api/record/", row, "/", rest));
  }
  Json asked(size_t row, std::string_view rest, int status = 200) {
    const Answer answer = get(row, rest);
    EXPECT_EQ(answer.status, status) << rest << "\n" << answer.body;
    return Json::parse(answer.body);
  }

  void SetUp() override { index_->add_op({}); }
  std::unique_ptr<VectorDumpIndex> index_ = std::make_unique<VectorDumpIndex>();
  std::unique_ptr<WebAnswers> answers_;
};

TEST_F(ValueAnswers, TwoDimensionsAreChosen) {
  std::vector<float> values(24);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const size_t row = add(DType::kFloat32, {2, 3, 4}, values);
  const Picture last = picture_of(get(row, "slice?at=1,:,:"));
  EXPECT_THAT(last.header, ElementsAre(0x534c4943, 3, 4, 1, 1, 3, 4, 0, 0, 0));
  EXPECT_THAT(last.values, ElementsAre(12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23));
  EXPECT_THAT(picture_of(get(row, "slice?at=:,2,:&cols=1:3")).values, ElementsAre(9, 10, 21, 22));
  EXPECT_THAT(picture_of(get(row, "slice?at=:,:,3&rows=1:2")).values, ElementsAre(15, 19, 23)) << "a column that is not contiguous";
  EXPECT_THAT(picture_of(get(row, "slice?at=1,2,3")).values, ElementsAre(23));
  EXPECT_THAT(picture_of(get(row, "slice?at=0,1,:")).values, ElementsAre(4, 5, 6, 7));
}

TEST_F(ValueAnswers, LargePartsAreReducedAndNothingNonFiniteIsLost) {
  std::vector<float> values(600 * 700, 0.5F);
  values[0] = -3;
  values[1] = 2;
  values[599 * 700 + 699] = kInf;
  values[100 * 700 + 100] = kInf;
  values[101 * 700 + 101] = kNan;
  const size_t row = add(DType::kFloat32, {600, 700}, values);
  const Picture picture = picture_of(get(row, "slice?at=:,:&reduce=absmax"));
  EXPECT_THAT(picture.header, ElementsAre(0x534c4943, 300, 350, 2, 2, 600, 700, 0, 0, 0));
  EXPECT_EQ(picture.values[0], -3);
  EXPECT_EQ(picture.values[299 * 350 + 349], kInf);
  EXPECT_TRUE(std::isnan(picture.values[50 * 350 + 50])) << "NaN represents a cell that also has Inf";
  EXPECT_EQ(picture_of(get(row, "slice?at=:,:&reduce=max")).values[0], 2);
  EXPECT_EQ(picture_of(get(row, "slice?at=:,:&reduce=min")).values[0], -3);
  EXPECT_EQ(picture_of(get(row, "slice?at=:,:&rows=0:100&cols=0:512")).header[3], 1U);
}

TEST_F(ValueAnswers, OtherTypesAndShapes) {
  EXPECT_THAT(picture_of(get(add(DType::kFloat64, {2}, std::vector<double>{1e300, -1e300}), "slice?at=:")).values,
              ElementsAre(std::numeric_limits<float>::max(), -std::numeric_limits<float>::max()));
  index_ = std::make_unique<VectorDumpIndex>();
  index_->add_op({});
  answers_ = nullptr;
  const size_t complex = add(DType::kComplex64, {1}, std::vector<float>{3, 4});
  const size_t scalar = add(DType::kInt32, {}, std::vector<int32_t>{7});
  const size_t empty = add(DType::kFloat32, {0, 3}, std::vector<float>{});
  index_->set_data(empty, std::vector<float>{});
  EXPECT_THAT(picture_of(get(complex, "slice?at=:")).values, ElementsAre(5));
  EXPECT_THAT(picture_of(get(scalar, "slice")).values, ElementsAre(7));
  EXPECT_THAT(picture_of(get(empty, "slice?at=:,:")).values, ElementsAre());
}

struct ExactPart {
  std::vector<uint32_t> sizes;  // rows, columns, bytes of an element
  std::string descr;
  std::string bytes;
  template <class T>
  [[nodiscard]] std::vector<T> as() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};

ExactPart exact_of(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  std::vector<uint32_t> words(4);
  EXPECT_GE(answer.body.size(), 40U);
  std::memcpy(words.data(), answer.body.data(), 16);
  EXPECT_EQ(words[0], 0x45584143U);
  return {{words.begin() + 1, words.end()}, std::string(answer.body.c_str() + 16), answer.body.substr(40)};
}

TEST_F(ValueAnswers, EveryDigitOfAPartInTheTypeOfTheTensor) {
  const std::vector<double> doubles = {0.1, 1e300, -1e-300, 1.0 / 3, 2, 3};
  const std::vector<int64_t> wide = {9007199254740993, -9223372036854775807 - 1, 1};
  const size_t of_doubles = add(DType::kFloat64, {2, 3}, doubles);
  const size_t of_wide = add(DType::kInt64, {3}, wide);
  const size_t of_halves = add(DType::kFloat16, {2}, std::vector<uint16_t>{0x3c00, 0x7e00});
  const size_t of_bfloats = add(DType::kBFloat16, {2}, std::vector<uint16_t>{0x3f80, 0x4049});
  const size_t of_float8 = add(DType::kFloat8E4M3FN, {2}, std::vector<uint8_t>{0x38, 0x7e});
  const size_t of_int4 = add(DType::kInt4, {3}, std::vector<uint8_t>{0xf1, 0x07});
  const size_t of_flags = add(DType::kBool, {2}, std::vector<uint8_t>{1, 0});
  const size_t empty = add(DType::kInt32, {0, 3}, std::vector<int32_t>{});
  index_->set_data(empty, std::vector<int32_t>{});
  const ExactPart all = exact_of(get(of_doubles, "exact?at=:,:"));
  EXPECT_THAT(all.sizes, ElementsAre(2, 3, 8));
  EXPECT_EQ(all.descr, "<f8");
  EXPECT_EQ(all.as<double>(), doubles);
  EXPECT_THAT(exact_of(get(of_doubles, "exact?at=:,1")).as<double>(), ElementsAre(1e300, 2)) << "a column that is not contiguous";
  EXPECT_THAT(exact_of(get(of_doubles, "exact?at=:,:&rows=1:2&cols=0:1")).as<double>(), ElementsAre(1.0 / 3));
  EXPECT_EQ(exact_of(get(of_wide, "exact?at=:")).descr, "<i8");
  EXPECT_EQ(exact_of(get(of_wide, "exact?at=:")).as<int64_t>(), wide);
  EXPECT_EQ(exact_of(get(of_halves, "exact?at=:")).descr, "<f2");
  EXPECT_THAT(exact_of(get(of_halves, "exact?at=:")).as<uint16_t>(), ElementsAre(0x3c00, 0x7e00));
  EXPECT_EQ(exact_of(get(of_bfloats, "exact?at=:")).descr, "<f4");
  EXPECT_THAT(exact_of(get(of_bfloats, "exact?at=:")).as<float>(), ElementsAre(1, 3.140625F));
  EXPECT_THAT(exact_of(get(of_float8, "exact?at=:")).as<float>(), ElementsAre(1, 448));
  EXPECT_THAT(exact_of(get(of_int4, "exact?at=:")).as<float>(), ElementsAre(1, -1, 7));
  EXPECT_EQ(exact_of(get(of_flags, "exact?at=:")).descr, "|b1");
  EXPECT_EQ(exact_of(get(empty, "exact?at=:,:")).bytes, "");
}

TEST_F(ValueAnswers, APartThatIsTooLargeIsNeverMadeCoarser) {
  const size_t row = add(DType::kInt8, {600, 2}, std::vector<int8_t>(1200));
  EXPECT_THAT(asked(row, "exact?at=:,:", 400).at("error").get<std::string>(), HasSubstr("at most 512 by 512"));
  EXPECT_EQ(exact_of(get(row, "exact?at=:,:&rows=100:600")).bytes.size(), 1000U);
  EXPECT_THAT(asked(row, "exact?at=:,:&reduce=max", 400).at("error").get<std::string>(), HasSubstr("reduce"));
  EXPECT_THAT(asked(row, "exact?at=:,9", 400).at("error").get<std::string>(), HasSubstr("dimension 1"));
}

TEST_F(ValueAnswers, TextsArePages) {
  const std::vector<std::string> held = {"ab", "", std::string("x\0y", 3), "<b>"};
  std::vector<StringElement> elements;
  for (const std::string& text : held) elements.push_back({text.data(), text.size()});
  const size_t row = add(DType::kString, {2, 2}, elements);
  const size_t number = add(DType::kFloat32, {1}, std::vector<float>{1});
  const size_t without = add(DType::kString, {2}, std::vector<StringElement>{});
  const Json all = asked(row, "texts");
  EXPECT_EQ(all.at("total"), 4);
  EXPECT_EQ(all.at("items").at(0), (Json{{"index", {0, 0}}, {"text", "ab"}}));
  EXPECT_EQ(all.at("items").at(2).at("text"), held[2]);
  EXPECT_EQ(asked(row, "texts?from=3&limit=9").at("items"), Json::parse(R"([{"index": [1, 1], "text": "<b>"}])"));
  EXPECT_EQ(asked(row, "texts?from=4").at("items"), Json::array());
  EXPECT_EQ(asked(row, "texts?from=9999999999").at("items"), Json::array());
  for (const char* wrong : {"texts?from=-1", "texts?limit=0", "texts?limit=x", "texts?from=99999999999999999999", "texts?at=1"}) {
    const Json answer = asked(row, wrong, 400);
    EXPECT_THAT(answer.at("error").get<std::string>(), testing::Not(testing::IsEmpty())) << wrong;
    EXPECT_EQ(answer.size(), 1U) << wrong;
  }
  EXPECT_THAT(asked(number, "texts", 404).at("error").get<std::string>(), HasSubstr("no texts"));
  EXPECT_EQ(get(without, "texts").status, 404);
  EXPECT_EQ(get(999, "texts").status, 404);
}

TEST_F(ValueAnswers, ValuesAreFound) {
  const size_t row = add(DType::kFloat32, {2, 3}, std::vector<float>{1, kNan, 5, -kInf, -2, 5});
  EXPECT_EQ(asked(row, "find?what=nonfinite"), (Json{{"index", {0, 1}}, {"flat", 1}, {"value", "nan"}}));
  EXPECT_EQ(asked(row, "find?what=nonfinite&after=1"), (Json{{"index", {1, 0}}, {"flat", 3}, {"value", "-inf"}}));
  EXPECT_EQ(asked(row, "find?what=largest"), (Json{{"index", {0, 2}}, {"flat", 2}, {"value", 5.0}}));
  EXPECT_EQ(asked(row, "find?what=smallest"), (Json{{"index", {1, 1}}, {"flat", 4}, {"value", -2.0}}));
  EXPECT_THAT(asked(row, "find?what=nonfinite&after=3", 404).at("error").get<std::string>(), HasSubstr("no further NaN"));
}

TEST_F(ValueAnswers, DifferencesAreFound) {
  const size_t a = add(DType::kFloat32, {4}, std::vector<float>{1, kNan, kInf, 3});
  const size_t b = add(DType::kFloat32, {4}, std::vector<float>{1, kNan, kInf, 2.5F});
  const auto both = difference_elements(*index_->data(a), *index_->data(b));
  ASSERT_TRUE(both.ok());
  const auto found = find_element(**both, "difference", {});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->flat, 3U);
  EXPECT_EQ(found->value, 0.5);
  const size_t other = add(DType::kFloat32, {2}, std::vector<float>{1, 2});
  EXPECT_EQ(difference_elements(*index_->data(a), *index_->data(other)).status().code(), StatusCode::kNotFound);
}

TEST_F(ValueAnswers, HistogramsAreOfTheValuesOrOfTheDump) {
  const size_t row = add(DType::kFloat32, {8}, std::vector<float>{0, 1, 2, 4, kNan, kInf, -kInf, 0});
  const size_t same = add(DType::kFloat32, {2}, std::vector<float>{3, 3});
  const size_t statistics = add(DType::kFloat32, {3}, std::vector<float>{});
  std::vector<uint64_t> exponents(ExponentHistogram::kBins + 3);
  exponents[150] = 2;
  exponents[152] = 1;
  exponents[ExponentHistogram::kBins] = 4;
  index_->all_histograms[statistics] = exponents;
  const size_t nothing = add(DType::kFloat32, {3}, std::vector<float>{});
  EXPECT_EQ(asked(row, "histogram?bins=4"), (Json{{"kind", "linear"},
                                                  {"edges", {0.0, 1.0, 2.0, 3.0, 4.0}},
                                                  {"counts", {2, 1, 1, 1}},
                                                  {"zero", 2},
                                                  {"nan", 1},
                                                  {"pos_inf", 1},
                                                  {"neg_inf", 1}}));
  EXPECT_EQ(asked(same, "histogram").at("counts"), Json({2}));
  const Json made = asked(statistics, "histogram");
  EXPECT_EQ(made.at("kind"), "exponent");
  EXPECT_EQ(made.at("edges"), Json({1.0, 2.0, 4.0, 8.0}));
  EXPECT_EQ(made.at("counts"), Json({2, 0, 1}));
  EXPECT_EQ(made.at("zero"), 4);
  EXPECT_THAT(asked(nothing, "histogram", 404).at("error").get<std::string>(), HasSubstr("neither"));
}

TEST_F(ValueAnswers, WhatIsAskedWronglyIsSaid) {
  const size_t row = add(DType::kFloat32, {2, 3}, std::vector<float>(6));
  const size_t statistics = add(DType::kFloat32, {2}, std::vector<float>{});
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"slice?at=:", "has 1 places"},   {"slice?at=2,:", "dimension 0"},    {"slice?at=-1,:", "dimension 0"},
      {"slice?at=:,:&rows=5", "0:512"}, {"slice?at=:,:&rows=3:1", "0:512"}, {"slice?at=:,:&reduce=sum", "absmax"},
      {"find?what=mean", "nonfinite"},  {"slice?where=1", "where"},         {"histogram?bins=0", "bins"},
  };
  for (const auto& [rest, words] : wrong) EXPECT_THAT(asked(row, rest, 400).at("error").get<std::string>(), HasSubstr(words)) << rest;
  EXPECT_EQ(get(row, "picture").status, 404);
  EXPECT_EQ(get(statistics, "slice?at=:").status, 404);
  EXPECT_EQ(get(999, "slice?at=:").status, 404);
}

}  // namespace
}  // namespace tensortap
