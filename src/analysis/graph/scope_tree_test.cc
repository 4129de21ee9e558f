#include "graph/scope_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace tensortap {
namespace {

using Parts = std::vector<std::string>;

std::string path_of(const Parts& parts) {
  std::string path;
  for (const std::string& part : parts) path += "/" + part;
  return path;
}

// The nodes that there should be: scopes that were asked for, and those where ways part.
std::set<Parts> expected_nodes(const std::vector<Parts>& scopes) {
  std::map<Parts, std::set<std::string>> next;  // what follows each beginning
  for (const Parts& scope : scopes) {
    for (size_t length = 0; length < scope.size(); ++length)
      next[Parts(scope.begin(), scope.begin() + static_cast<std::ptrdiff_t>(length))].insert(scope[length]);
  }
  std::set<Parts> nodes(scopes.begin(), scopes.end());
  for (const auto& [beginning, following] : next) {
    if (following.size() > 1) nodes.insert(beginning);
  }
  nodes.insert(Parts());  // the root
  return nodes;
}

RC_GTEST_PROP(ScopeTreeTest, HasANodeForEachScopeAndEachFork, ()) {
  const auto part = rc::gen::element<std::string>("a", "b", "layer.0");
  const auto scopes = *rc::gen::container<std::vector<Parts>>(rc::gen::container<Parts>(part));
  std::vector<std::string> texts;
  for (const Parts& scope : scopes) texts.push_back(path_of(scope));
  ScopeTree tree(false);
  std::vector<uint32_t> nodes;
  for (const std::string& text : texts) nodes.push_back(tree.add(text));

  std::set<Parts> found;
  for (uint32_t node = 0; node < tree.nodes().size(); ++node) {
    const std::string_view path = tree.nodes()[node].path;
    Parts parts;
    for (const std::string_view one : split(path, '/')) {
      if (!one.empty()) parts.emplace_back(one);
    }
    RC_ASSERT(found.insert(parts).second);
    if (node == 0) continue;
    const std::string_view above = tree.nodes()[tree.nodes()[node].parent].path;
    RC_ASSERT(path.starts_with(above));
    RC_ASSERT(path.substr(tree.nodes()[node].label) == path.substr(above.size() + 1));
  }
  RC_ASSERT(found == expected_nodes(scopes));
  for (size_t i = 0; i < texts.size(); ++i) RC_ASSERT(tree.nodes()[nodes[i]].path == texts[i]);
}

TEST(ScopeTreeTest, DotsSeparateWhereTheyAreSaidTo) {
  ScopeTree modules(true);
  const uint32_t first = modules.add("Net.layer1.conv");
  const uint32_t second = modules.add("Net.layer1/norm");
  EXPECT_EQ(modules.nodes()[modules.nodes()[first].parent].path, "Net.layer1");
  EXPECT_EQ(modules.nodes()[first].parent, modules.nodes()[second].parent);
  EXPECT_EQ(modules.add("Net/layer1.conv"), first);

  ScopeTree names(false);
  const uint32_t one = names.add("/layer.1/conv");
  const uint32_t other = names.add("/layer.2/conv");
  EXPECT_EQ(names.nodes()[one].parent, 0U);
  EXPECT_EQ(names.nodes()[other].parent, 0U);
}

TEST(ScopeTreeTest, EmptyPartsCountForNothing) {
  ScopeTree tree(false);
  EXPECT_EQ(tree.add(""), 0U);
  EXPECT_EQ(tree.add("///"), 0U);
  const uint32_t node = tree.add("a//b/");
  EXPECT_EQ(tree.add("/a/b"), node);
  EXPECT_EQ(tree.nodes().size(), 2U);
}

}  // namespace
}  // namespace tensortap
