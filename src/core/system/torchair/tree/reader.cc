#include "system/torchair/tree/reader.h"

#include <utility>

#include "base/text.h"
#include "system/torchair/tree/grammar.h"
#include "system/torchair/tree/rows.h"
#include "tree/npy_mapped.h"
#include "tree/tree_index.h"

namespace tensortap::torchair {
namespace {

class FxIndex : public TreeIndex {
 public:
  explicit FxIndex(TreeContent content) : TreeIndex("fx", std::move(content)) {}

 protected:
  Result<RecordData> map(size_t row, const RecordRow& record) const override {
    if ((record.flags & kRecordDataLost) != 0) return corrupt(concat(path_of(row), ": cut short: the record's values are not all there"));
    return map_npy(path_to_open(row), record.desc());
  }
};

}  // namespace

Confidence recognise_tree(const std::string& folder) { return tensortap::recognise_tree(kGrammar, folder); }

Result<std::unique_ptr<DumpIndex>> open_tree(const std::string& folder) {
  TreeProblems problems;
  TENSORTAP_ASSIGN_OR_RETURN(Tree tree, walk_tree(kGrammar, folder, problems));
  TreeRows rows = read_rows(tree, problems);
  TreeContent content{std::move(tree), std::move(rows), "{}", problems.take(), problems.damage()};
  return std::unique_ptr<DumpIndex>(std::make_unique<FxIndex>(std::move(content)));
}

}  // namespace tensortap::torchair
