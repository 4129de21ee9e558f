#include "system/mindspore/config/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "plan/capture_plan.h"

namespace tensortap::mindspore {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = OpSelector::Kind;

// Reads a list from a separate text; keeps the text that the positions point into.
struct List {
  explicit List(std::string list_text) : text(std::move(list_text)), json(*parse_json(text, "c.json")), value(json, text, "c.json") {}
  std::string text;
  Json json;
  SpecValue value;
};

Kernels kernels_of(const std::string& text, const KernelRules& rules = {}) {
  const List list(text);
  const Result<Kernels> kernels = parse_kernels(list.value, rules);
  EXPECT_TRUE(kernels.ok()) << kernels.status().message();
  return kernels.ok() ? *kernels : Kernels();
}

// Pseudo-ops are known by their bare names, so any name can be a full name.
std::vector<std::string> dumped(const std::vector<OpSelector>& selectors, const std::vector<std::string>& names) {
  CaptureSpec spec;
  spec.include = selectors;
  std::vector<OpInfo> ops(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    ops[i].name = names[i];
    ops[i].type = "Input";
  }
  const auto plan = CapturePlan::compile(spec);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  const auto decisions = (*plan)->bind(ops);
  EXPECT_TRUE(decisions.ok()) << decisions.status().message();
  std::vector<std::string> wanted;
  for (size_t i = 0; i < names.size(); ++i) {
    if ((*decisions)[i].wanted) wanted.push_back(names[i]);
  }
  return wanted;
}

TEST(MindsporeKernels, GoldenCellByCell) {
  const Result<std::string> file = read_file(TENSORTAP_TESTDATA "/golden/mindspore/match/kernels.jsonl");
  ASSERT_TRUE(file.ok()) << file.status().message();
  size_t rows = 0;
  for (const std::string_view line : split(trim(*file), '\n')) {
    const Json row = *parse_json(line, "kernels.jsonl");
    const List list(row["kernels"].dump());
    const Result<Kernels> kernels = parse_kernels(list.value, {});
    ++rows;
    if (row.contains("error")) {
      EXPECT_FALSE(kernels.ok()) << list.text;
      continue;
    }
    ASSERT_TRUE(kernels.ok()) << kernels.status().message();
    const std::vector<OpSelector> selectors = row["dump_mode"] == 1 ? kernels->selectors : std::vector<OpSelector>();
    EXPECT_EQ(dumped(selectors, row["names"].get<std::vector<std::string>>()), row["dumped"].get<std::vector<std::string>>()) << list.text;
  }
  EXPECT_EQ(rows, 39U);
}

TEST(MindsporeKernels, OpsAreFoundByTheirTypeAndByTheTypesTheyWereMadeOf) {
  OpInfo conv;
  conv.name = "/layer1/relu_after_conv/Conv";
  conv.type = "FusedConv";
  conv.originals = {{"/layer1/relu", "Relu"}};
  conv.outputs = {"matmul_out"};
  CaptureSpec spec;
  for (const auto& [entry, expected] :
       {std::pair(R"(["conv"])", true), {R"(["RELU"])", true}, {R"(["matmul"])", false}, {R"(["after"])", false}}) {
    spec.include = kernels_of(entry).selectors;
    const auto plan = CapturePlan::compile(spec);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ((*plan)->decide(conv).wanted, expected) << entry;
  }
  for (const char* entry :
       {R"(["Default/layer1/relu_after_conv/Conv/FusedConv-op0"])", R"(["/layer1/relu"])", R"j(["name-regex(.*FusedConv-op[0-9])"])j"}) {
    spec.include = kernels_of(entry).selectors;
    EXPECT_TRUE((*CapturePlan::compile(spec))->decide(conv).wanted) << entry;
  }
}

TEST(MindsporeKernels, EntriesKeepTheirPlaceForMessages) {
  const Kernels kernels = kernels_of("[\"Conv\",\n \"Default/Add-op1\", \"name-regex(.*)\"]");
  ASSERT_EQ(kernels.selectors.size(), 3U);
  EXPECT_EQ(kernels.selectors[0].kind, Kind::kScopedType);
  EXPECT_EQ(kernels.selectors[0].origin, "c.json:1:2");
  EXPECT_EQ(kernels.selectors[1].kind, Kind::kName);
  EXPECT_EQ(kernels.selectors[1].origin, "c.json:2:2");
  EXPECT_EQ(kernels.selectors[2].kind, Kind::kNameFullRegex);
  EXPECT_EQ(kernels.selectors[2].text, ".*");
  for (const OpSelector& selector : kernels.selectors) EXPECT_TRUE(selector.optional);
}

TEST(MindsporeKernels, OlderVersionsKnowFewerForms) {
  EXPECT_EQ(kernels_of(R"(["Conv"])", {.types = false, .regexes = false}).selectors[0].kind, Kind::kName);
  EXPECT_EQ(kernels_of(R"j(["name-regex(Conv)"])j", {.types = true, .regexes = false}).selectors[0].kind, Kind::kScopedType);
}

TEST(MindsporeKernels, WhatIsOddIsSaid) {
  EXPECT_THAT(kernels_of(R"(["Conv", "Add", "Co nv"])").notes, ElementsAre(HasSubstr("[2]: \"Conv\" occurs twice")));
  EXPECT_THAT(kernels_of(R"j(["name-regex(a\\.b)"])j").notes, ElementsAre(HasSubstr("write [.] for a dot")));
  EXPECT_THAT(kernels_of(R"(["", " ", "\" \""])").selectors, testing::SizeIs(1)) << "a quote leaves its backslash";
  EXPECT_THAT(kernels_of("[]").notes, IsEmpty());
}

TEST(MindsporeKernels, ARegexMayLookAhead) {
  const Kernels kernels = kernels_of(R"j(["name-regex((?!Gradients/).*conv[0-9]+/.*)"])j");
  const std::vector<std::string> names = {"Default/conv1/Conv2D-op1", "Gradients/Default/conv1/Conv2D-op2", "Default/fc/MatMul-op3"};
  EXPECT_THAT(dumped(kernels.selectors, names), ElementsAre("Default/conv1/Conv2D-op1"));
}

TEST(MindsporeKernels, AWrongRegexIsRefusedAtItsPlace) {
  const List list("[\"Add\",\n  \"name-regex([)\"]");
  const Result<Kernels> kernels = parse_kernels(list.value, {});
  ASSERT_FALSE(kernels.ok());
  EXPECT_TRUE(kernels.status().message().starts_with("c.json:2:3: [1]: the regular expression \"[\" is wrong at column 1: "))
      << kernels.status().message();
}

}  // namespace
}  // namespace tensortap::mindspore
