#include "compare/name_map.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "compare/made_dump.h"

namespace tensortap {
namespace {

struct Two {
  Two() {
    for (const char* name : {"net.0", "net.1", "fc"}) a.gives(a.op(name, "P"), {1});
    for (const char* name : {"layer0", "layer1", "Gemm"}) b.gives(b.op(name, "Q"), {1});
    b.at(2).outputs = {"logits"};
  }
  // Pairs of positions, or what is wrong.
  [[nodiscard]] std::string mapped(const std::string& text, const std::string& file) const {
    const auto lines = parse_name_map(text, file);
    if (!lines.ok()) return lines.status().message();
    const auto pairs = mapped_values(*lines, file, ValueTable(a), ValueTable(b));
    if (!pairs.ok()) return pairs.status().message();
    std::string all;
    for (const auto& [x, y] : *pairs) all += std::to_string(x) + ">" + std::to_string(y) + " ";
    return all;
  }
  MadeDump a;
  MadeDump b;
};

TEST(NameMap, ReadsLinesYamlAndPatterns) {
  const Two two;
  struct Row {
    std::string text;
    std::string file;
    std::string answer;
  };
  const std::vector<Row> rows = {
      {"# a comment\n\nnet.0\tlayer1\r\n", "m.txt", "0>1 "},
      {"fc:out0\tlogits\n", "m.txt", "2>2 "},
      {"net.0: layer1\n\"fc\": 'Gemm'\n", "m.yaml", "0>1 2>2 "},
      {"re:net\\.(\\d)\tlayer\\1\n", "m.txt", "0>0 1>1 "},
      {"net.0 layer1\n", "m.txt", "m.txt:1: write a name of A, a tab and a name of B"},
      {"\nnet.0: \n", "m.yml", "m.yml:2: write a name of A, \": \" and a name of B"},
      {"net.0\tlayer9\n", "m.txt", "m.txt:1: nothing in B is called \"layer9\". Did you mean \"layer0\" or \"layer1\"?"},
      {"re:conv(\\d)\tlayer\\1\n", "m.txt", "m.txt:1: no name in A matches \"conv(\\\\d)\"."},
      {"re:(net\tlayer\n", "m.txt", "m.txt:1: \"(net\" is not a regular expression: missing ): (net"},
  };
  for (const Row& row : rows) EXPECT_EQ(two.mapped(row.text, row.file), row.answer);
  EXPECT_NE(two.mapped("re:net\\.(\\d)\tlayer\\2\n", "m.txt").find("m.txt:1: \"layer\\\\2\""), std::string::npos);
}

}  // namespace
}  // namespace tensortap
